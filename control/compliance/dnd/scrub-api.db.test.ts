import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { dataOf, itemsOf, openTestCalling } from '../../../fixtures/api/calling.js'
import { signInStaff } from '../../../fixtures/api/signed-in.js'
import { onEachDialect } from '../../../fixtures/database/databases.js'
import { importScrubFile } from '../../cli/dnd-import.js'
import { istMidnight } from '../calling-hours.js'
import { gateFacts } from '../facts.js'
import { askRegister } from './ask-register.js'
import { importScrub } from './scrub-import.js'
import { sweepScrubs } from './scrub-store.js'

const DAY = 86_400_000
const PATH = '/v1/staff/dnd-register/imports'
const LISTED = '+919876543210'
const CLEAR = '+919876543211'
const FILE = `e164,listed,category\r\n${LISTED},true,full\r\n${CLEAR},false,\r\n`

await onEachDialect(t, async (t, open) => {
  const calling = await openTestCalling(await open(), {})
  const { api, clock, deps } = calling
  const { db } = deps
  const { organizationId } = calling.owner
  const staff = await signInStaff(api)
  const iso = (ms: number) => encodeURIComponent(new Date(ms).toISOString())
  const upload = (raw: string | Buffer, query = `scrubbedAt=${iso(clock.wall())}`) =>
    staff.send('POST', `${PATH}?${query}`, { raw, headers: { 'content-type': 'text/csv' } })
  const question = (to: string) => ({
    organizationId,
    from: null,
    gate: { to, environment: 'live', purpose: 'promotional', trigger: 'call' } as const,
  })
  /** The register's answer about a number, as the gate gets it. */
  const ask = async (to: string) => {
    const { purpose, environment } = question(to).gate
    const run = { organizationId, environment, purpose, runId: 'run_1', peId: null }
    await askRegister(deps, [to], { ...run, at: clock.wall() })
    const { register } = await gateFacts(db, calling.deps, question(to), clock.wall())
    return register !== null && register.validUntil > clock.wall() ? register : null
  }
  const stored = async () => {
    const numbers = await db.selectFrom('registerScrubNumbers').selectAll().execute()
    return {
      numbers: numbers.length,
      scrubs: (await db.selectFrom('registerScrubs').selectAll().execute()).length,
    }
  }
  await t.test('a file with a wrong row leaves nothing behind', async (t) => {
    const good = Array.from({ length: 1_200 }, (_, i) => `+9198${String(i).padStart(8, '0')},true`).join('\n')
    const answer = await upload(`e164,listed\n${good}\n12345,true\n${LISTED},maybe\n`)
    t.match(answer, { status: 400, body: { error: { code: 'validation_error', message: /2 problems/ } } })
    t.same((answer.body as { error: { details: { issues: unknown } } }).error.details.issues, [
      { path: 'line 1202', reason: 'e164 must be +91 and ten digits' },
      { path: 'line 1203', reason: 'listed must be true or false' },
    ])
    t.same(await stored(), { numbers: 0, scrubs: 0 })
    t.match(await upload(`e164,listed\n${good}\n"open`), {
      status: 400,
      body: { error: { code: 'bad_request' } },
    })
    t.match(await upload('e164,listed\n'), { status: 400 })
    t.match(await upload(''), { status: 400 })
    t.match(await upload('number,listed\n'), { status: 400 })
    t.match(await upload(Buffer.from([0x65, 0xff, 0xfe])), { status: 400 })
    const broken = async function* () {
      yield Buffer.from(`e164,listed\n${good}\n`)
      throw new Error('the disk failed')
    }
    const file = { content: broken(), scrubbedAt: clock.wall(), validUntil: null, createdBy: null }
    await t.rejects(importScrub(deps, file), /the disk failed/)
    t.same(await stored(), { numbers: 0, scrubs: 0 })
    t.equal(await ask(LISTED), null)
  })

  await t.test('times', async (t) => {
    const now = clock.wall()
    t.match(await upload(FILE, `scrubbedAt=${iso(now + 1)}`), { status: 400 })
    t.match(await upload(FILE, `scrubbedAt=${iso(now - 7 * DAY)}`), { status: 400 })
    t.match(await upload(FILE, `scrubbedAt=${iso(now)}&validUntil=${iso(now + 7 * DAY)}`), { status: 400 })
    t.match(await upload(FILE, `scrubbedAt=${iso(now)}&validUntil=${iso(now)}`), { status: 400 })
    t.match(await upload(FILE, ''), { status: 400 })
    t.same(await stored(), { numbers: 0, scrubs: 0 })
  })

  await t.test('the gate answers from the file while it is valid', async (t) => {
    const validUntil = clock.wall() + 3_600_000
    const scrub = dataOf(await upload(FILE, `scrubbedAt=${iso(clock.wall())}&validUntil=${iso(validUntil)}`))
    t.match(scrub, { id: /^scr_/, rows: 2, sha256: /^[0-9a-f]{64}$/ })
    t.match(itemsOf(await staff.send('GET', PATH)), [scrub])
    const reference = `sha256:${scrub.sha256}`
    t.match(await ask(LISTED), { state: 'listed', register: 'scrub_file', category: 'full', reference })
    t.match(await ask(CLEAR), { state: 'not_listed', category: null, validUntil })
    t.equal(await ask('+919876543212'), null, 'the file does not know the number')

    await clock.advance(60_000)
    const later = `e164,listed\n${CLEAR},true\n${CLEAR},false\n`
    t.equal(
      (await upload(later, `scrubbedAt=${iso(clock.wall())}&validUntil=${iso(validUntil)}`)).status,
      201,
    )
    t.match(await ask(CLEAR), { state: 'listed', checkedAt: clock.wall() }, 'the later file counts at once')
    t.match(await ask(LISTED), { state: 'listed', reference }, 'the earlier one knows more numbers')

    await clock.advance(3_600_000)
    t.equal(await ask(LISTED), null)
    while (await sweepScrubs(db, clock.wall()));
    t.same(await stored(), { numbers: 0, scrubs: 2 }, 'evidence names the files by their hashes')
    while (await sweepScrubs(db, clock.wall() + 1_200 * DAY));
    t.same(await stored(), { numbers: 0, scrubs: 0 })
  })

  await t.test('a file counts to the end of its seventh day in India', async (t) => {
    const scrubbedAt = clock.wall() - 6 * DAY
    const { validUntil } = dataOf(await upload(FILE, `scrubbedAt=${iso(scrubbedAt)}`))
    const end = istMidnight(clock.wall()) + DAY
    t.equal(validUntil, new Date(end).toISOString())
    clock.advance(end - 1 - clock.wall())
    t.match(await ask(LISTED), { state: 'listed', validUntil: end })
    clock.advance(1)
    t.equal(await ask(LISTED), null)
    t.equal(await ask(CLEAR), null)
    while (await sweepScrubs(db, clock.wall() + 1_200 * DAY));
  })

  await t.test('command line', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'parley-dnd-'))
    const path = join(folder, 'scrub.csv')
    const run = (...args: string[]) => importScrubFile(db, args, clock)
    const at = ['--scrubbed-at', new Date(clock.wall()).toISOString()]
    writeFileSync(path, `${FILE}x,true,\n`)
    await t.rejects(run(path, ...at), /was not imported\.\nLine 4: e164 must be/)
    writeFileSync(path, FILE)
    await t.rejects(run(path), /--scrubbed-at must be an ISO 8601 time/)
    await t.rejects(run(...at), /give one file/)
    await t.rejects(run(join(folder, 'none.csv'), ...at), /cannot be read/)
    await t.rejects(
      run(path, ...at, '--valid-until', '2020-01-01T00:00:00Z'),
      /--valid-until: must be in the/,
    )
    t.same(await stored(), { numbers: 0, scrubs: 0 })
    t.match(await run(path, ...at), /^2 rows imported as scr_\w+, valid until /)
    t.match(await ask(LISTED), { state: 'listed' })
    rmSync(folder, { recursive: true })
  })
  await calling.close()
})
