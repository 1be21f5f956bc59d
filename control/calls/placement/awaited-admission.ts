import type { Clock } from '../../../media/base/clock.js'
import type { AdmissionControl, AdmissionDecision, AwaitedAdmission } from '../../../signalling/call/ports.js'

/** Lets the sandbox operation learn what became of the call that it placed. */
export function openAwaitedAdmission(admission: AdmissionControl, clock: Clock): AwaitedAdmission {
  const waiting = new Map<string, (decision: AdmissionDecision) => void>()
  return {
    async admit(invite) {
      const decision = await admission.admit(invite)
      waiting.get(invite.sipCallId)?.(decision)
      return decision
    },
    async decisionOn(sipCallId, ms, place) {
      let late = (): void => {}
      const decision = new Promise<AdmissionDecision | null>((resolve) => {
        waiting.set(sipCallId, resolve)
        late = () => resolve(null)
      })
      const timer = clock.after(ms, late)
      try {
        await place()
        return await decision
      } finally {
        timer.cancel()
        waiting.delete(sipCallId)
      }
    },
  }
}
