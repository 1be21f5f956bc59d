import type { MissedTransfer } from '../../signalling/call/ports.js'
import type { TransferOutcome } from '../../signalling/call/transfer-machine.js'
import { lastLines } from './takeover-report.js'

const WHY: Readonly<Record<TransferOutcome, string>> = {
  connected: 'the person talked with the caller',
  no_answer: 'nobody answered or took the call',
  busy: 'the line was busy',
  declined: 'the person declined the call',
  caller_hung_up: 'the caller hung up',
  caller_returned: 'the caller did not want to wait any longer',
  call_ended: 'the call ended',
  carrier_error: 'the call could not be connected',
  destination_unavailable: 'the telephone takes no calls now',
}

/** Returns the report to an agent about a call that no person took: why, for each telephone, and the words of the caller meanwhile. */
export function transferReport(
  { attempts, said }: MissedTransfer,
  labelOf: (destination: string) => string,
): string {
  const parts = [
    'Your transfer of the caller to a person did not succeed. You have the caller again.',
    ...attempts.map(({ destination, outcome }) => `${labelOf(destination)}: ${WHY[outcome]}.`),
  ]
  const words = lastLines(said)
  if (words !== '') parts.push(`What the caller said while waiting:\n${words}`)
  return parts.join('\n')
}
