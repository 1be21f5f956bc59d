import t from 'tap'
import { runSuite } from '../../../fixtures/conversations/run-suite.js'
import { WITH_EACH_RECOGNISER } from '../../../fixtures/conversations/suites.js'
import { TurnClock } from '../../../fixtures/virtual-call/turn-clock.js'

/*
 * The core conversations of the suite once more with each recogniser but Nova-3, each on its vendor's own wire
 * format, all in one engine. PARLEY_CONVERSATIONS='television|cough' plays only those whose name contains one of
 * the words, PARLEY_RECOGNISERS='chirp_3|azure' only these recognisers.
 */

const wanted = new RegExp(process.env.PARLEY_CONVERSATIONS ?? '.')
const recognisers = new RegExp(process.env.PARLEY_RECOGNISERS ?? '.')

const scenarios = Object.entries(WITH_EACH_RECOGNISER).flatMap(([model, all]) =>
  recognisers.test(model)
    ? all
        .filter(({ name }) => wanted.test(name))
        .map((scenario) => ({ ...scenario, name: `${scenario.name} (${model})` }))
    : [],
)

t.test(`${scenarios.length} conversations with other recognisers`, { timeout: 600_000 }, (t) =>
  runSuite(t, scenarios, 10, new TurnClock()),
)
