import { createHmac } from 'node:crypto'
import type { Deps } from '../../api/deps.js'

/** An element of `RTCConfiguration.iceServers`. */
export interface IceServer {
  readonly urls: readonly string[]
  readonly username: string
  readonly credential: string
}

/** A relay checks the credentials for as long as a call uses it; no call lasts longer than two hours. */
const CREDENTIAL_MS = 130 * 60_000

/**
 * Returns the relays of a user with credentials that expire: coturn's `use-auth-secret`
 * (https://github.com/coturn/coturn/blob/master/README.turnserver, TURN REST API).
 */
export function iceServers(turn: Deps['settings']['turn'], userId: string, now: number): IceServer[] {
  if (turn === null) return []
  const username = `${Math.floor((now + CREDENTIAL_MS) / 1000)}:${userId}`
  const credential = createHmac('sha1', turn.secret).update(username).digest('base64')
  return [{ urls: turn.urls, username, credential }]
}
