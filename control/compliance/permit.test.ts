import t from 'tap'
import type { Permit } from '../../signalling/sip/dial-gate.js'
import { openPermitBook, PERMIT_LIFE_MS } from './permit.js'

const call = { recordId: 'evd_1', callId: 'call_1', to: '+919876543210', from: '+919000000100' }

const always = () => true

function book() {
  let now = 1_700_000_000_000
  return { permits: openPermitBook({ wall: () => now }), pass: (ms: number) => (now += ms) }
}

t.test('a permit is valid for one dial', async (t) => {
  const { permits } = book()
  const permit = permits.issue(call, always)
  t.match(permit, call)
  t.equal(permits.spend(permit), 'unclaimed', 'a permit is claimed before its INVITE')
  t.ok(permits.claim(permit))
  t.notOk(permits.claim(permit))
  t.equal(permits.spend({ ...permit }), 'unclaimed')
  t.equal(permits.spend(permit), 'spent')
  t.equal(permits.spend(permit), 'unclaimed', 'a permit sends one INVITE')
})

t.test('a copy, a cast and a permit of another registry dial nothing', async (t) => {
  const { permits } = book()
  const permit = permits.issue(call, always)
  t.notOk(permits.claim({ ...permit }))
  t.notOk(permits.claim({ ...call, expiresAt: Number.MAX_SAFE_INTEGER } as unknown as Permit))
  t.notOk(book().permits.claim(permit))
  t.ok(permits.claim(permit), 'the genuine one is untouched by all that')
})

t.test('a permit cannot be altered and expires', async (t) => {
  const { permits, pass } = book()
  const permit = permits.issue(call, always)
  t.throws(() => Object.assign(permit, { to: '+919999999999' }))
  pass(PERMIT_LIFE_MS)
  t.notOk(permits.claim(permit))
  const second = permits.issue(call, always)
  pass(PERMIT_LIFE_MS - 1)
  t.ok(permits.claim(second))
})

t.test('the decision is made once more when the INVITE is sent, and when it is repeated', async (t) => {
  const { permits, pass } = book()
  const until = 1_700_000_000_000 + 2_000
  const open = (now: number) => now < until
  const early = permits.issue(call, open)
  const late = permits.issue(call, open)
  t.ok(permits.claim(early))
  t.ok(permits.claim(late))
  t.notOk(permits.allows(early), 'only a permit that was spent has an INVITE')
  t.equal(permits.spend(early), 'spent')
  t.ok(permits.allows(early))
  pass(2_000)
  t.equal(permits.spend(late), 'lapsed')
  t.equal(permits.spend(late), 'unclaimed', 'a lapsed permit is gone')
  t.notOk(permits.allows(early), 'a challenge that comes after the end is not answered')
  t.notOk(permits.allows(late))
})
