import t from 'tap'
import { runSuite } from '../../../fixtures/conversations/run-suite.js'
import { SMOKE_SCENARIOS } from '../../../fixtures/conversations/suites.js'

/*
 * A selection of the conversations of conversations.long.test.ts that runs with every change.
 */

t.test('some conversations', { timeout: 240_000 }, (t) => runSuite(t, SMOKE_SCENARIOS, 6))
