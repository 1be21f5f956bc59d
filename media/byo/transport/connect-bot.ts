import { isIP } from 'node:net'
import { errorText } from '../../base/errors.js'
import { isPublicAddress } from '../../base/public-address.js'
import type { Scope } from '../../base/scope.js'
import { type BotTransport, URL_SCHEMES } from '../bot-spec.js'
import { dialAudioSocket } from './audiosocket-connection.js'
import type { BotConnection, Dialer, DialOptions } from './bot-connection.js'
import { dialWebSocket } from './websocket-connection.js'

/** From the first try to an open line. */
const CONNECT_MS = 5_000
/** After these a second try would be answered the same. */
const FINAL_STATUSES = [401, 403, 404]

const DIALS: Readonly<Record<BotTransport, Dialer>> = { websocket: dialWebSocket, tcp: dialAudioSocket }

export interface ConnectOptions extends DialOptions {
  /** Development: private addresses, and lines that nobody encrypts. */
  readonly allowPrivate: boolean
}

/** `reason` is for people: no secret in it, and no address. */
export type ConnectResult =
  | { readonly ok: true; readonly connection: BotConnection }
  | { readonly ok: false; readonly reason: string; readonly status: number | null }

/**
 * Dials a bot: 5 s in all, a second try after a quick failure unless the bot said no. Never rejects. The
 * line is handed over by `opened` too, which is earlier.
 * `scope` closed, the attempt is given up.
 */
export async function connectBot(options: ConnectOptions, scope: Scope): Promise<ConnectResult> {
  const { handshake, clock, allowPrivate } = options
  const problem = problemOf(handshake.url, handshake.transport, allowPrivate)
  if (problem !== null) return { ok: false, reason: problem, status: null }
  const [first = null, second = first] = handshake.subprotocols
  const deadline = clock.now() + CONNECT_MS
  const opened = await attempt(options, first, deadline, scope)
  const hopeless = !opened.ok && opened.status !== null && FINAL_STATUSES.includes(opened.status)
  if (opened.ok || hopeless || clock.now() >= deadline || scope.closed) return opened
  return await attempt(options, second, deadline, scope)
}

function problemOf(url: string, transport: BotTransport, allowPrivate: boolean): string | null {
  if (!URL.canParse(url)) return 'the address is no URL'
  const { protocol, hostname, port } = new URL(url)
  const [safe, plain] = URL_SCHEMES[transport]
  if (protocol !== safe && !(allowPrivate && protocol === plain)) {
    return `the address is not ${safe.slice(0, -1)}`
  }
  if (transport === 'tcp' && port === '') return 'the address names no port'
  const host = hostname.replace(/^\[|\]$/g, '')
  // A literal address is never looked up.
  if (!allowPrivate && isIP(host) !== 0 && !isPublicAddress(host)) return 'the address is not public'
  return null
}

function attempt(
  options: ConnectOptions,
  subprotocol: string | null,
  deadline: number,
  scope: Scope,
): Promise<ConnectResult> {
  const { handshake, clock, events } = options
  return new Promise((resolve) => {
    const own = scope.child()
    let settled = false
    const settle = (result: ConnectResult): boolean => {
      if (settled) return false
      settled = true
      own.close().catch((error: unknown) => events.internalError(error))
      resolve(result)
      return true
    }
    const fail = (reason: string, status: number | null): void => {
      if (settle({ ok: false, reason, status })) giveUp()
    }
    let giveUp = (): void => {}
    try {
      giveUp = DIALS[handshake.transport](options, subprotocol, {
        opened(line) {
          if (settle({ ok: true, connection: line })) events.opened(line)
          else line.terminate()
        },
        failed: fail,
      })
    } catch (error) {
      // A client throws at an address or a header that it cannot send.
      fail(`the request cannot be made (${errorText(error)})`, null)
      return
    }
    own.after(clock, Math.max(0, deadline - clock.now()), () => fail('the bot did not answer in time', null))
    own.own(() => fail('the call ended', null))
  })
}
