import { finding, type GateCheck } from '../check.js'

/** Refuses calls that the available balance does not cover. */
export const wallet: GateCheck = {
  type: 'wallet',
  code: 'insufficient_funds',
  paid: true,
  decide(_request, { wallet: funds }) {
    if (funds === null) return finding('pass', 'simulated', 'Calls of the test environment cost nothing.')
    const { onHold, availablePaise, minBalancePaise } = funds
    if (onHold) return finding('block', 'wallet_on_hold', 'The wallet is on hold.', { details: funds })
    return availablePaise >= minBalancePaise
      ? finding('pass', 'covered', 'The available balance covers a call.', { details: { minBalancePaise } })
      : finding('block', 'balance_too_low', 'The available balance does not cover a call.', {
          details: funds,
        })
  },
}
