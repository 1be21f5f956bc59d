import { isIP } from 'node:net'
import { errorText } from '../../base/errors.js'
import { isPublicAddress } from '../../base/public-address.js'
import type { Scope } from '../../base/scope.js'
import { type BotTransport, URL_SCHEMES } from '../bot-spec.js'
import { dialAudioSocket } from './audiosocket-connection.js'
import type { BotConnection, Dialer, DialOptions } from './bot-connection.js'
import { dialWebSocket } from './websocket-connection.js'

/** From the first attempt to an open connection (ms). */
const CONNECT_MS = 5_000
/** HTTP statuses after which a second attempt would get the same response. */
const FINAL_STATUSES = [401, 403, 404]

const DIALS: Readonly<Record<BotTransport, Dialer>> = { websocket: dialWebSocket, tcp: dialAudioSocket }

export interface ConnectOptions extends DialOptions {
  /** Development only: allows private addresses and unencrypted connections. */
  readonly allowPrivate: boolean
}

/** `reason` is shown to people: it holds no secret and no address. */
export type ConnectResult =
  | { readonly ok: true; readonly connection: BotConnection }
  | { readonly ok: false; readonly reason: string; readonly status: number | null }

/**
 * Connects to a bot within 5 s, with a second attempt after a quick failure unless the bot refused. Does not
 * reject. The connection is also passed to `opened`, which happens earlier. Closing `scope` abandons the
 * attempt.
 */
export async function connectBot(options: ConnectOptions, scope: Scope): Promise<ConnectResult> {
  const { handshake, clock, allowPrivate } = options
  const problem = problemOf(handshake.url, handshake.transport, allowPrivate)
  if (problem !== null) return { ok: false, reason: problem, status: null }
  const [first = [], second = first] = handshake.subprotocols
  const deadline = clock.now() + CONNECT_MS
  const opened = await attempt(options, first, deadline, scope)
  const final = !opened.ok && opened.status !== null && FINAL_STATUSES.includes(opened.status)
  if (opened.ok || final || clock.now() >= deadline || scope.closed) return opened
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
  // A literal address is never looked up, so it is checked here.
  if (!allowPrivate && isIP(host) !== 0 && !isPublicAddress(host)) return 'the address is not public'
  return null
}

function attempt(
  options: ConnectOptions,
  subprotocols: readonly string[],
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
      giveUp = DIALS[handshake.transport](options, subprotocols, {
        opened(connection) {
          if (settle({ ok: true, connection: connection })) events.opened(connection)
          else connection.terminate()
        },
        failed: fail,
      })
    } catch (error) {
      // The client throws for a URL or a header that it cannot send.
      fail(`the request failed (${errorText(error)})`, null)
      return
    }
    own.after(clock, Math.max(0, deadline - clock.now()), () => fail('the bot did not answer in time', null))
    own.own(() => fail('the call ended', null))
  })
}
