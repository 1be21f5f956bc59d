import type { Variable } from '../../media/vendors/vendor-module.js'
import { invalid, type Parsed, valid } from './parsers.js'

export const TURN_VARIABLES = [
  {
    name: 'PARLEY_TURN_URLS',
    default: '',
    description:
      'TURN relays for browsers in networks that block UDP, for example turns:turn.example.com:443?transport=tcp; empty has none',
  },
  {
    name: 'PARLEY_TURN_SECRET',
    default: '',
    description: 'Secret of these relays, as in static-auth-secret of coturn',
    secret: true,
  },
] as const satisfies readonly Variable[]

/** Relays that accept credentials made with a shared secret. */
export interface TurnSettings {
  readonly urls: readonly string[]
  readonly secret: string
}

/** RFC 7065. */
const TURN_URL = /^turns?:(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?(?:\?transport=(?:udp|tcp))?$/i

/** Parses `turn:host:3478,turns:host:443?transport=tcp`. */
export function turnUrls(value: string): Parsed<readonly string[]> {
  const urls = value.split(',').map((part) => part.trim())
  return urls.every((url) => TURN_URL.test(url))
    ? valid(urls)
    : invalid(
        'set a comma-separated list of turn: or turns: addresses, for example turn:turn.example.com:3478',
      )
}

/** Addresses and secret require each other. */
export function turnSettings(
  urls: readonly string[] | null,
  secret: string | null,
  complain: (line: string) => void,
): TurnSettings | null {
  if (urls !== null && secret !== null) return { urls, secret }
  if (urls !== null) complain('PARLEY_TURN_SECRET: set the secret of the relays')
  if (secret !== null) complain('PARLEY_TURN_URLS: set the addresses of the relays')
  return null
}
