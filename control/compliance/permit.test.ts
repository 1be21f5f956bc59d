import t from 'tap'
import type { Permit } from '../../signalling/sip/dial-gate.js'
import { openPermitBook, PERMIT_LIFE_MS } from './permit.js'

const call = { recordId: 'evd_1', callId: 'call_1', to: '+919876543210', from: '+919000000100' }

function book() {
  let now = 1_700_000_000_000
  return { permits: openPermitBook({ wall: () => now }), pass: (ms: number) => (now += ms) }
}

t.test('a permit is valid for one dial', async (t) => {
  const { permits } = book()
  const permit = permits.issue(call)
  t.match(permit, call)
  t.notOk(permits.spend(permit), 'a permit is claimed before its INVITE')
  t.ok(permits.claim(permit))
  t.notOk(permits.claim(permit))
  t.notOk(permits.spend({ ...permit }))
  t.ok(permits.spend(permit))
  t.notOk(permits.spend(permit), 'a permit sends one INVITE')
})

t.test('a copy, a cast and a permit of another registry dial nothing', async (t) => {
  const { permits } = book()
  const permit = permits.issue(call)
  t.notOk(permits.claim({ ...permit }))
  t.notOk(permits.claim({ ...call, expiresAt: Number.MAX_SAFE_INTEGER } as unknown as Permit))
  t.notOk(book().permits.claim(permit))
  t.ok(permits.claim(permit), 'the genuine one is untouched by all that')
})

t.test('a permit cannot be altered and expires', async (t) => {
  const { permits, pass } = book()
  const permit = permits.issue(call)
  t.throws(() => Object.assign(permit, { to: '+919999999999' }))
  pass(PERMIT_LIFE_MS)
  t.notOk(permits.claim(permit))
  const second = permits.issue(call)
  pass(PERMIT_LIFE_MS - 1)
  t.ok(permits.claim(second))
})
