import t from 'tap'
import { type TopupFacts, topupStatus } from './topup-status.js'

const NEW: TopupFacts = {
  paid: false,
  declined: false,
  expired: false,
  disputed: false,
  refundedPaise: 0,
  payablePaise: 11_800,
}

t.test('the status of a top-up follows from its facts', async (t) => {
  const rows: readonly [Partial<TopupFacts>, string][] = [
    [{}, 'created'],
    [{ declined: true }, 'failed'],
    [{ expired: true }, 'expired'],
    [{ declined: true, expired: true }, 'failed'],
    [{ paid: true }, 'paid'],
    [{ paid: true, declined: true, expired: true }, 'paid'],
    [{ paid: true, refundedPaise: 1 }, 'partially_refunded'],
    [{ paid: true, refundedPaise: 11_800 }, 'refunded'],
    [{ paid: true, disputed: true }, 'disputed'],
    [{ paid: true, disputed: true, refundedPaise: 11_800 }, 'disputed'],
  ]
  for (const [facts, status] of rows)
    t.equal(topupStatus({ ...NEW, ...facts }), status, JSON.stringify(facts))
})
