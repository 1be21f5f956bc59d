import t from 'tap'
import { runSuite } from '../../../fixtures/conversations/run-suite.js'
import { SUITES } from '../../../fixtures/conversations/suites.js'
import { TurnClock } from '../../../fixtures/virtual-call/turn-clock.js'

/*
 * Named conversations with the whole service on virtual time: SIP and RTP on loopback, vendors with their own
 * protocols, ten calls at once. What the caller heard is read from the packets.
 * PARLEY_CONVERSATIONS='television|cough' plays only those whose name contains one of the words.
 */

const wanted = new RegExp(process.env.PARLEY_CONVERSATIONS ?? '.')

for (const [kind, all] of Object.entries(SUITES)) {
  const scenarios = all.filter(({ name }) => wanted.test(name))
  if (scenarios.length === 0) continue
  t.test(`${scenarios.length} conversations ${kind}`, { timeout: 600_000 }, (t) =>
    runSuite(t, scenarios, 10, new TurnClock()),
  )
}
