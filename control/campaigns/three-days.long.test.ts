import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import type { DaysReport } from '../../fixtures/virtual-call/campaign-days.js'

/** People of the campaign; PARLEY_CAMPAIGN_RECIPIENTS=100000 is the full run. */
const SIZE = Number(process.env.PARLEY_CAMPAIGN_RECIPIENTS ?? 200)

await t.test(`${SIZE} people in at least three days, 200 deaths and 20 deployments`, async (t) => {
  const program = fileURLToPath(
    new URL('../../fixtures/virtual-call/campaign-days-process.js', import.meta.url),
  )
  const running = promisify(execFile)(process.execPath, [program, String(SIZE)])
  running.child.stderr?.pipe(process.stderr)
  const { stdout } = await running
  const report = JSON.parse(stdout) as DaysReport
  t.same(report.faults, [])
  t.ok(report.kills >= 200, `${report.kills} deaths`)
  t.equal(report.changes, 20)
  t.ok(report.days >= 3, `dials on ${report.days} days`)
  t.ok(report.carrierRefusals > 0, 'the carrier refused calls')
  t.ok(report.spentPaise > 0)
  t.comment(stdout)
})
