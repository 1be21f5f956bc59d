import type { ServiceTools } from '../../media/agent/tools/service-tools.js'

/**
 * Presets of calls that no part of the service carries out yet: opt-outs belong to the suppression list of
 * the compliance folder, transfers to the transfers folder, callbacks to the campaigns'. Each takes its kind
 * over here when it is built; until then the agent can say honestly that nothing was done.
 */
export const serviceTools: ServiceTools = {
  carryOut: () => Promise.resolve({ status: 'not_available' }),
}
