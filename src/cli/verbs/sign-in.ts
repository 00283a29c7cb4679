/** Commands of a person who uses a gateway: tokens of its identity provider. */
import { type Command, command } from './command.ts'

const PAGE = 'docs/identity.md'

export const signInCommands: readonly Command[] = [
  command({
    usage: 'login <ADDRESS>',
    summary: 'Log in to a gateway at the identity provider of your company',
    details:
      'ADDRESS is that of the gateway. Shows a code and the page to enter it on, and waits.\n' +
      'The tokens go to headgate/logins.json of your configuration folder (XDG_CONFIG_HOME, else ~/.config), mode 600.',
    example: 'login https://llm.example.com',
    page: PAGE,
    options: { '--issuer <ISSUER>': 'the identity provider, where the gateway has several' },
    run: async ([address = ''], flags) => (await import('../sign-in/login.ts')).login(address, flags),
  }),
  command({
    usage: 'token [ADDRESS]',
    summary: 'Print a token of your login, renewed where it is near its end',
    details:
      'For settings that call a program for a key, such as apiKeyHelper of Claude Code. ADDRESS: the gateway of the last login without it.',
    example: 'token https://llm.example.com',
    page: PAGE,
    run: async ([address]) => (await import('../sign-in/login.ts')).token(address),
  }),
  command({
    usage: 'logout [ADDRESS]',
    summary: 'Revoke the tokens of your login, and remove them from this machine',
    details: 'Exit code 1 where they could not be revoked.',
    example: 'logout https://llm.example.com',
    page: PAGE,
    run: async ([address]) => (await import('../sign-in/login.ts')).logout(address),
  }),
]
