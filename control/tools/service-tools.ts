import type {
  ServiceAnswer,
  ServiceKind,
  ServiceRequest,
  ServiceTools,
} from '../../media/agent/tools/service-tools.js'

/** Carries out one kind of preset. */
export type PresetHandlers = {
  readonly [K in ServiceKind]?: (
    callId: string,
    request: Extract<ServiceRequest, { readonly kind: K }>,
  ) => Promise<ServiceAnswer>
}

/**
 * Returns the presets of calls that parts of the service carry out. Without a handler the agent can say honestly that
 * nothing was done.
 */
export function serviceTools(handlers: PresetHandlers): ServiceTools {
  return {
    carryOut(callId, request) {
      const handler = handlers[request.kind] as
        | ((callId: string, request: ServiceRequest) => Promise<ServiceAnswer>)
        | undefined
      return handler === undefined ? Promise.resolve({ status: 'not_available' }) : handler(callId, request)
    },
  }
}
