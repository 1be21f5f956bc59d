import type { SpeakerScript } from '../../media/agent/agent-spec.js'
import type { LegRequest } from '../channel/protocol.js'

/** Adds the script of a simulated person to a request to listen, which names the Call-ID of the leg. */
export function withScript<R extends LegRequest>(
  request: R,
  sandboxScript: (sipCallId: string) => SpeakerScript | null,
): R {
  if (request.type !== 'listen' || request.sipCallId === undefined) return request
  return { ...request, script: sandboxScript(request.sipCallId) }
}
