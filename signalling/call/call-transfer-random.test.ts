import t from 'tap'
import { RandomTransfers } from '../../fixtures/rigs/random-transfers.js'

const CALLS = 240

t.test('whatever parties, carriers and workers do', async (t) => {
  const seen = new Map<string, number>()
  const count = (what: string) => seen.set(what, (seen.get(what) ?? 0) + 1)
  for (let seed = 1; seed <= CALLS; seed++) {
    const call = new RandomTransfers(seed)
    try {
      await call.run()
    } catch (error) {
      throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : error}`, { cause: error })
    }
    for (const { status, outcome, mode, unconfirmed } of call.events) {
      if (unconfirmed) count('unconfirmed')
      count(status)
      count(`${outcome}`)
      if (status === 'bridged') count(`bridged ${mode}`)
    }
    for (const refusal of new Set(call.refused)) count(refusal)
    if (call.kept > 0) count('kept words')
    if (call.told.caller > 0) count('told of the hang-up')
    if (call.told.other > 0) count('told of another end')
    const steps = call.events.map((event) => (event.unconfirmed ? 'unconfirmed' : event.status)).join()
    if (steps.includes('unconfirmed,answered')) count('confirmed later')
    count(`${call.ending}`)
  }
  // Counts of events that the random world reached. A world in which nothing happens proves nothing.
  const reached = [
    ...[
      'bridged blind',
      'bridged screened',
      'bridged consult',
      'unconfirmed',
      'busy',
      'no_answer',
      'declined',
      'carrier_error',
    ],
    ...['caller_hung_up', 'caller_returned', 'destination_unavailable', 'transfer_in_progress', 'internal'],
    ...[
      'attempts_exhausted',
      'kept words',
      'told of the hang-up',
      'told of another end',
      'confirmed later',
      'transfer_completed',
      'caller_hangup',
      'api_hangup',
    ],
  ]
  for (const what of reached) t.ok((seen.get(what) ?? 0) >= 3, `${what}: ${seen.get(what) ?? 0}`)
})
