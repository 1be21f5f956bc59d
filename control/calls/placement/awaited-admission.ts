import type { Clock } from '../../../media/base/clock.js'
import type { AdmissionControl, AdmissionDecision } from '../../../signalling/call/ports.js'

/** Admission control whose decision on one INVITE can be awaited. */
export interface AwaitedAdmission extends AdmissionControl {
  /**
   * Runs `place`, which sends the INVITE with this Call-ID. Resolves with the decision on it, or with null if it
   * does not arrive within `ms`. Rejects if `place` does.
   */
  decisionOn(sipCallId: string, ms: number, place: () => Promise<void>): Promise<AdmissionDecision | null>
}

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
