import { type CallRecord, type CarrierResult, failed, ok } from './carrier.js'

/**
 * Reads whether a leg was answered from its time of answer and its billed seconds. A record denies an answer with a null
 * time or with zero seconds. A record that cannot be read denies nothing.
 */
export function readRecord(answeredAt: unknown, billedSeconds: unknown): CarrierResult<CallRecord> {
  const isTime = answeredAt === null || (typeof answeredAt === 'string' && answeredAt !== '')
  const isSeconds = typeof billedSeconds === 'number' && billedSeconds >= 0
  if (!isTime || !isSeconds) return failed('provider_unavailable', 'a call record that cannot be read')
  return ok({ answered: answeredAt !== null && billedSeconds > 0 })
}
