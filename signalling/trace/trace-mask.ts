/** One SIP message of a call, with secrets masked. */
export interface TracedMessage {
  /** Unix time (ms). */
  readonly at: number
  readonly direction: 'in' | 'out'
  readonly transport: string
  /** The peer; empty for messages that our own server made, such as a local 408. */
  readonly peer: string
  readonly startLine: string
  readonly headers: readonly (readonly [string, string])[]
  readonly body: string
}

const MASK = '***'

/** Headers that contain or prove a secret, and customers' own headers with such names. */
const SECRET_HEADER = /authorization$|^authentication-info$|token|secret|password|api-?key|cookie/i

/** SRTP keys and ICE passwords in session descriptions. */
const SECRET_LINES =
  /^([ \t]*a=[ \t]*(?:crypto[ \t]*:[^\r\n]*?inline:|ice-pwd[ \t]*:|key-mgmt[ \t]*:))[^\r\n]*|^([ \t]*k=)[^\r\n]*/gim

/** Digits may be a PIN. */
const KEYS = /^([ \t]*Signal[ \t]*=)[^\r\n]*/gim

/** Returns the message without its secrets. */
export function maskSecrets(message: TracedMessage): TracedMessage {
  const headers = message.headers.map(([name, value]) =>
    SECRET_HEADER.test(name) ? ([name, maskedCredentials(value)] as const) : ([name, value] as const),
  )
  const type = message.headers.find(([name]) => /^(?:content-type|c)$/i.test(name))?.[1] ?? ''
  const body = /^application\/dtmf\s*(?:;|$)/i.test(type)
    ? MASK
    : message.body
        .replace(SECRET_LINES, (_line, media: string | undefined, key: string | undefined) => {
          return `${media ?? key ?? ''}${MASK}`
        })
        .replace(KEYS, `$1${MASK}`)
  return { ...message, headers, body }
}

/** Keeps scheme, user and realm of credentials, which are needed for diagnosis. */
function maskedCredentials(value: string): string {
  const kept = [...value.matchAll(/\b(username|realm|algorithm|nc)\s*=\s*("[^"]*"|[^,\s]+)/gi)]
  const scheme = /^(Digest)\s/i.exec(value)?.[1]
  if (scheme === undefined) return MASK
  return `${scheme} ${[...kept.map(([, name, text]) => `${name}=${text}`), MASK].join(', ')}`
}
