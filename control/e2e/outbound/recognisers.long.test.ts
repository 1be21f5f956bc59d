import t from 'tap'
import { runSuite } from '../../../fixtures/conversations/run-suite.js'
import { WITH_EACH_RECOGNISER } from '../../../fixtures/conversations/suites.js'
import { TurnClock } from '../../../fixtures/virtual-call/turn-clock.js'

/*
 * The core conversations of the suite once more with each recogniser that was added since, each on its vendor's own
 * wire format. PARLEY_CONVERSATIONS='television|cough' plays only those whose name contains one of the words,
 * PARLEY_RECOGNISERS='chirp_3|azure' only these recognisers.
 */

const wanted = new RegExp(process.env.PARLEY_CONVERSATIONS ?? '.')
const recognisers = new RegExp(process.env.PARLEY_RECOGNISERS ?? '.')

for (const [model, all] of Object.entries(WITH_EACH_RECOGNISER)) {
  const scenarios = all.filter(({ name }) => wanted.test(name))
  if (scenarios.length === 0 || !recognisers.test(model)) continue
  t.test(`${scenarios.length} conversations with ${model}`, { timeout: 600_000 }, (t) =>
    runSuite(t, scenarios, 10, new TurnClock()),
  )
}
