import t from 'tap'
import { survivePurchaseKills } from '../../fixtures/carriers/purchase-survival.js'

t.test('kill -9 at each stage of a purchase: one number that is paid once, or nothing', survivePurchaseKills)
