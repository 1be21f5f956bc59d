import t from 'tap'
import { runSuite } from '../../../fixtures/conversations/run-suite.js'
import { SUITES } from '../../../fixtures/conversations/suites.js'

/*
 * Named conversations over the whole service: real SIP and RTP, vendors on their own wires, ten calls at
 * once in one engine. What was heard is read from the packets.
 *
 *   PARLEY_CONVERSATIONS='television|cough' plays those whose name holds one of the words.
 */

const wanted = new RegExp(process.env.PARLEY_CONVERSATIONS ?? '.')

for (const [kind, all] of Object.entries(SUITES)) {
  const scenarios = all.filter(({ name }) => wanted.test(name))
  if (scenarios.length === 0) continue
  t.test(`${scenarios.length} conversations ${kind}`, { timeout: 600_000 }, (t) => runSuite(t, scenarios, 10))
}
