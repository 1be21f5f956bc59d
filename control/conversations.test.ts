import t from 'tap'
import { BESIDE } from '../fixtures/conversations/scenarios/beside.js'
import { HANG_UPS } from '../fixtures/conversations/scenarios/hang-ups.js'
import { TURN_TAKING } from '../fixtures/conversations/scenarios/turn-taking.js'
import { runSuite } from '../fixtures/conversations/suite.js'

await runSuite(t, [...TURN_TAKING, ...BESIDE, ...HANG_UPS], 12)
