import t from 'tap'
import { surviveEachCommit } from '../../fixtures/payments/topup-survival.js'

t.test('kill -9 before each commit of a top-up: each paisa moves once', surviveEachCommit)
