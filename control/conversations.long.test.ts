import t from 'tap'
import { SCENARIOS } from '../fixtures/conversations/all.js'
import { runSuite } from '../fixtures/conversations/suite.js'

/*
 * Named conversations over the whole service: real SIP and RTP, vendors on their own wires, a dozen calls
 * at once in one engine. What was heard is read from the packets.
 *
 *   PARLEY_CONVERSATIONS='television|cough' plays those whose name holds one of the words.
 */

const wanted = new RegExp(process.env.PARLEY_CONVERSATIONS ?? '.')
const scenarios = SCENARIOS.filter(({ name }) => wanted.test(name))

t.test(`${scenarios.length} conversations`, { timeout: 900_000 }, (t) => runSuite(t, scenarios, 10))
