import type { Core } from '../core.js'
import { type SipMessage, serialise } from '../message/sip-message.js'
import { timeOfDay } from './app-notifications.js'

/** The cause of the message: a peer, or an application (or the server on its behalf). */
export type CdrSource = 'network' | 'application'

export type CdrStopReason =
  | 'call-rejected'
  | 'call-canceled'
  | 'normal-release'
  | 'session-expired'
  | 'ack-timeout'
  | 'system-initiated'

/*
 * Call events for applications that asked for them with the verbs `cdr:attempt`, `cdr:start` and `cdr:stop`;
 * each event goes to one application. Serves `parley sip-server`; calls of the service do not use it.
 */

export function cdrAttempt(core: Core, source: CdrSource, message: SipMessage | Buffer): void {
  send(core, 'attempt', source, null, message)
}

export function cdrStart(core: Core, source: CdrSource, role: 'uac' | 'uas', message: SipMessage): void {
  send(core, 'start', source, role, message)
}

export function cdrStop(
  core: Core,
  source: CdrSource,
  reason: CdrStopReason,
  message: SipMessage | Buffer,
): void {
  send(core, 'stop', source, reason, message)
}

function send(
  core: Core,
  event: 'attempt' | 'start' | 'stop',
  source: CdrSource,
  detail: string | null,
  message: SipMessage | Buffer,
): void {
  const app = core.nextApp(`cdr:${event}`)
  if (app === null) return
  const bytes = Buffer.isBuffer(message) ? message : serialise(message)
  const end = detail === null ? '' : `|${detail}`
  app.send(`cdr:${event}|${source}|${timeOfDay(core)}${end}`, bytes)
}
