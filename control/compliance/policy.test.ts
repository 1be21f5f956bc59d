import t from 'tap'
import { CLEAR_FACTS } from '../../fixtures/database/gate-facts.js'
import type { Policy } from '../config/policy-file.js'
import { CHECK_TYPES, type GateFacts, type GateRequest } from './check.js'
import { decide } from './gate.js'
import { classifyNumber } from './numbering.js'
import {
  checksOfVersion,
  isBuiltIn,
  mobilePrefixes,
  POLICIES,
  POLICY,
  POLICY_VERSION,
  policyInForce,
  seriesOf,
} from './policy.js'

const ist = (text: string) => Date.parse(`${text}:00+05:30`)
const FROM = { source: 'A circular', effectiveFrom: '2027-04-01' }

function changed(rules: Partial<Policy>, replace: readonly (keyof Policy)[] = []) {
  return policyInForce({ replace, rules })
}

/** Decides a call with these rules. Returns the outcome and the reason of one check. */
function check(
  type: string,
  policy: Policy,
  at: string,
  request: object = {},
  facts: Partial<GateFacts> = {},
) {
  const gate: GateRequest = {
    ...{ to: '', environment: 'live', purpose: 'service', trigger: 'call' },
    ...request,
  }
  const verdict = decide(gate, { ...CLEAR_FACTS, ...facts, policy }, ist(at))
  const found = verdict.checks.find((made) => made.type === type)
  return `${found?.outcome} ${found?.reason}`
}

t.test('without a file the built-in rules apply, under their version', async (t) => {
  t.same(policyInForce(null), { version: POLICY_VERSION, rules: POLICY })
  t.ok(isBuiltIn(POLICY_VERSION))
  t.equal(POLICIES[POLICY_VERSION], POLICY)
})

t.test('a version tells which checks decided under it', async (t) => {
  t.same(checksOfVersion(POLICY_VERSION), CHECK_TYPES, 'a new check needs a new version')
  t.same(checksOfVersion(changed({ declaration: [] }).version), CHECK_TYPES)
  t.equal(checksOfVersion('2026-3')?.length, 11, 'the checks of a released version do not change')
  t.equal(checksOfVersion('2025-1'), null)
  t.equal(checksOfVersion(''), null)
})

t.test('the version of changed rules is their hash', async (t) => {
  const one = changed({ suppression: [{ days: 120, ...FROM }] })
  t.match(one.version, new RegExp(`^${POLICY_VERSION}\\+[0-9a-f]{64}$`))
  t.notOk(isBuiltIn(one.version))
  t.equal(changed({ suppression: [{ days: 120, ...FROM }] }).version, one.version)
  t.not(changed({ suppression: [{ days: 121, ...FROM }] }).version, one.version)
})

t.test('a dated rule of the file comes before the built-in ones, from its day on', async (t) => {
  const { rules } = changed({ suppression: [{ days: 120, ...FROM }] })
  t.same(
    rules.suppression.map(({ days }) => days),
    [120, 90],
  )
  const capped = changed({
    frequencyCap: [{ hours: 24, purposes: ['service'], effectiveTo: '2027-05-01', ...FROM }],
  }).rules
  const answered = (at: string) =>
    check(
      'frequency_cap',
      capped,
      at,
      { trigger: 'campaign', campaignId: 'cmp_1' },
      {
        lastCampaignAnswerAt: ist(at) - 48 * 3_600_000,
      },
    )
  t.equal(answered('2027-03-31T23:59'), 'block answered_recently')
  t.equal(answered('2027-04-01T00:00'), 'pass below_cap')
  t.equal(answered('2027-04-30T23:59'), 'pass below_cap')
  t.equal(answered('2027-05-01T00:00'), 'block answered_recently')
})

t.test('hours of the file narrow the built-in ones, or replace them', async (t) => {
  const hours = [{ purpose: 'collections', startMinute: 540, endMinute: 1200, ...FROM }] as const
  const at = (policy: Policy, time: string) =>
    check('calling_window', policy, time, { purpose: 'collections' })
  const narrower = changed({ hours }).rules
  t.equal(at(narrower, '2027-03-31T08:30'), 'pass inside_window')
  t.equal(at(narrower, '2027-04-01T08:30'), 'block outside_window')
  t.equal(at(narrower, '2027-04-01T19:30'), 'block outside_window')
  const other = changed({ hours }, ['hours']).rules
  t.equal(at(other, '2027-04-01T19:30'), 'pass inside_window')
  t.equal(at(other, '2027-04-01T20:00'), 'block outside_window')
  t.match(at(other, '2027-03-31T02:00'), /^pass/, 'the rules of that day were replaced, too')
})

t.test('series, declarations, consents and registers of the file apply', async (t) => {
  const { rules } = changed(
    { series: [{ prefix: '1602', purposes: ['service'], ...FROM }], declaration: [] },
    ['declaration'],
  )
  t.equal(seriesOf('+911602345678', rules), '1602')
  t.equal(seriesOf('+911602345678', POLICY), 'regular')
  const sender = { series: '1602', peId: '1', approved: null }
  t.equal(
    check('sender_registration', rules, '2027-04-01T12:00', {}, { sender }),
    'block sender_not_approved',
  )
  t.equal(check('sender_registration', rules, '2027-03-31T12:00', {}, { sender }), 'warn ordinary_number')
  t.equal(
    check('robocall_declaration', rules, '2027-04-01T12:00', {}, { declarations: [] }),
    'pass check_off',
  )
  const wider = changed({ consentNeeded: [{ purposes: ['transactional'], ...FROM }] }).rules
  const transactional = { purpose: 'transactional' }
  t.equal(check('consent', wider, '2027-04-01T12:00', transactional, { consent: null }), 'warn no_consent')
  t.equal(check('consent', wider, '2027-03-31T12:00', transactional, { consent: null }), 'pass not_required')
})

t.test('a new series of mobile numbers is dialable from its day on', async (t) => {
  const { rules } = changed({ mobilePrefixes: [{ prefix: '5012', ...FROM }] })
  const number = '+915012345678'
  const kind = (at: string) => classifyNumber(number, mobilePrefixes(rules, ist(at)))
  t.not(kind('2027-03-31T23:59').kind, 'subscriber')
  t.same(kind('2027-04-01T00:00'), { kind: 'subscriber', e164: number, lineType: 'mobile' })
})
