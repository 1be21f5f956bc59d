import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { POLICY } from '../compliance/policy.js'
import { type PolicyChanges, readPolicy } from './policy-file.js'
import { readSettings } from './settings.js'

const DATED = { source: 'A circular', effectiveFrom: '2027-04-01' }

function readFile(t: Test, text: string): PolicyChanges | null {
  const folder = mkdtempSync(join(tmpdir(), 'parley-policy-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'p.json'), text)
  return readSettings({ PARLEY_POLICY_FILE: 'p.json' }, folder).policyFile
}

t.test('the built-in rules have the format of exported ones', async (t) => {
  t.same(readPolicy(JSON.parse(JSON.stringify(POLICY))), POLICY)
  t.equal(readPolicy({ ...POLICY, tariffs: [] }), null, 'a kind of a later release')
  t.equal(readPolicy(undefined), null)
})

t.test(
  'rules that an earlier release exported have no rules of the kinds that it did not know',
  async (t) => {
    const { erasureFloor: _, mobilePrefixes: __, ...earlier } = POLICY
    t.same(readPolicy(earlier), { ...earlier, erasureFloor: [], mobilePrefixes: [] })
    t.equal(readPolicy({ ...earlier, hours: null }), null)
  },
)

t.test('a file adds and replaces kinds of rules', async (t) => {
  const rules = { suppression: [{ days: 120, ...DATED }], mobilePrefixes: [{ prefix: '60123', ...DATED }] }
  t.same(readFile(t, JSON.stringify({ replace: ['suppression'], ...rules })), {
    replace: ['suppression'],
    rules,
  })
  t.same(readFile(t, '{}'), { replace: [], rules: {} })
  t.equal(readSettings({}, '/nowhere').policyFile, null)
})

t.test('an invalid file stops the start and names the rule', async (t) => {
  const hours = { purpose: 'service', startMinute: 540, endMinute: 1260, ...DATED }
  const wrong: readonly (readonly [rules: unknown, fix: RegExp])[] = [
    [{ hours: [{ ...hours, startMinute: 1260 }] }, /correct hours: startMinute must be before endMinute/],
    [{ hours: [{ ...hours, endMinute: 1441 }] }, /correct hours\.0\.endMinute/],
    [{ hours: [{ ...hours, purpose: 'sales' }] }, /correct hours\.0\.purpose/],
    [{ hours: [{ ...hours, source: ' ' }] }, /correct hours\.0\.source/],
    [{ hours: [{ ...hours, effectiveFrom: '1 April 2027' }] }, /correct hours\.0\.effectiveFrom/],
    [
      { hours: [{ ...hours, effectiveTo: '2027-04-01' }] },
      /correct hours\.0\.effectiveTo: must be after effectiveFrom/,
    ],
    [{ hours: [{ ...hours, minutes: 1 }] }, /correct hours\.0: .*minutes/],
    [{ series: [{ prefix: '+91140', purposes: ['promotional'], ...DATED }] }, /correct series\.0\.prefix/],
    [{ series: [{ prefix: '140', purposes: [], ...DATED }] }, /correct series\.0\.purposes/],
    [{ frequencyCap: [{ hours: 1.5, purposes: ['service'], ...DATED }] }, /correct frequencyCap\.0\.hours/],
    [{ suppression: [{ days: -1, ...DATED }] }, /correct suppression\.0\.days/],
    [{ mobilePrefixes: [{ prefix: '1401', ...DATED }] }, /correct mobilePrefixes\.0\.prefix/],
    [{ replace: ['window'] }, /correct replace\.0/],
    [{ windows: [] }, /correct : .*windows/],
    [[], /correct /],
  ]
  for (const [rules, fix] of wrong) {
    t.throws(
      () => readFile(t, JSON.stringify(rules)),
      { code: 'config_invalid', message: fix },
      JSON.stringify(rules),
    )
  }
  t.throws(() => readFile(t, '{'), { message: /PARLEY_POLICY_FILE=p\.json: .*JSON/ })
  t.throws(() => readSettings({ PARLEY_POLICY_FILE: 'no.json' }, '/nowhere'), { message: /ENOENT/ })
})
