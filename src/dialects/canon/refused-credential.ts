/**
 * Separates a provider's refusal of the credential itself from one of what its account may do. Only the former is a reason to fetch another
 * token or to leave a key out: a caller chooses models and features, and could do either to everybody with one that the account may not
 * use. So a 403 counts as one of rights unless its words say that the key is bad.
 *
 * - OpenAI: 403 `model_not_found`, "Project … does not have access to model" (github.com/Aider-AI/aider/issues/1903); 401 "insufficient
 *   permissions for this operation. Missing scopes: model.request" (github.com/microsoft/PowerToys/issues/32989).
 * - Anthropic: 403 `permission_error` both for "OAuth token has been revoked" (github.com/anthropics/claude-code/issues/9635) and for
 *   "OAuth token does not meet scope requirement" (github.com/can1357/oh-my-pi/issues/38).
 * - Google: 403 `PERMISSION_DENIED` with the reason IAM_PERMISSION_DENIED for a model (github.com/rhel-lightspeed/linux-mcp-server/pull/450),
 *   CONSUMER_SUSPENDED (github.com/continuedev/continue/issues/10902) and API_KEY_SERVICE_BLOCKED (issues/12781 there) for a key, and
 *   without a reason "Your API key was reported as leaked" (issues/10513 there).
 * - Azure: 401 `PermissionDenied`, "lacks the required data action" (github.com/microsoft-foundry/foundry-samples/issues/155).
 * - AWS, whose signatures cover endpoints of OpenAI's format as well: 403 with the words of `src/dialects/bedrock/fault.ts`.
 * - NVIDIA: 403 "Authorization failed" for a wrong key (github.com/Alishahryar1/free-claude-code/issues/1242).
 */
const ABOUT_RIGHTS =
  /\baccess to\b|\bno access\b|insufficient[ _](?:permission|authentication scope)|missing scopes?|scope[ _](?:requirement|insufficient)|permission_?denied\b.{0,200}\bdata action|required data action|permission\b.{0,80}\bdenied on|iam_permission_denied|not (?:permitted|entitled|allowed) to|model_not_found/i
const ABOUT_CREDENTIAL = [
  /(?:invalid|incorrect|wrong|expired|revoked|unknown|leaked|disabled|suspended|blocked|deleted|malformed|missing|no)[ _](?:x-)?(?:api[ _-]?)?(?:key|token|credential)/i,
  /(?:key|token|credentials?|consumer)\b.{0,60}\b(?:invalid|incorrect|not valid|not found|expired|revoked|leaked|disabled|suspended|blocked|deleted)\b/i,
  /authenticat|authorization failed|request signature|signature expired|API_KEY_|CONSUMER_SUSPENDED|ACCESS_TOKEN_(?:EXPIRED|TYPE)/i,
]
/** What a message quotes may be the caller's, such as the name of a model. */
const QUOTED = /`[^`]{0,200}`|'[^']{0,200}'|"[^"]{0,200}"/g

/**
 * @param status of the reply, or the one that its body states.
 * @param words what the provider's error has for programs: its type, code and reason.
 * @returns true for a refusal that another credential of the same account would get as well.
 */
export function isAboutRights(status: number, words: string, message: string): boolean {
  const text = `${words} ${message.replaceAll(QUOTED, '')}`
  if (ABOUT_RIGHTS.test(text)) return true
  return status !== 401 && !ABOUT_CREDENTIAL.some((pattern) => pattern.test(text))
}
