import t from 'tap'
import { surviveRelay } from '../../fixtures/payments/topup-survival.js'

t.test('processes that are killed one after the other complete a top-up: each paisa moves once', surviveRelay)
