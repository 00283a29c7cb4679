/** Provisioning over SCIM 2.0 (docs/scim.md), which is loaded with its first request. */
export { ScimError } from './scim-error.ts'
export { answerScim, errorReply } from './serve.ts'
