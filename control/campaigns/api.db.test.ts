import t from 'tap'
import { dataOf, itemsOf, openTestCalling, type TestCalling } from '../../fixtures/api/calling.js'
import { onEachDialect } from '../../fixtures/database/databases.js'

async function openCampaign(calling: TestCalling, settings: object = {}): Promise<string> {
  const agentId = await calling.publishAgent()
  const json = { name: 'Reminders', agentId, numberId: calling.numberId, ...settings }
  const made = await calling.send('POST', '/v1/campaigns', { json })
  if (made.status !== 201) throw new Error(JSON.stringify(made.body))
  return String(dataOf(made).id)
}

const number = (i: number): string => `+9198${String(i).padStart(8, '0')}`

await onEachDialect(t, async (t, open) => {
  await t.test('a draft is made, listed, changed and deleted', async (t) => {
    const calling = await openTestCalling(await open())
    t.teardown(() => calling.close())
    const { send } = calling
    const id = await openCampaign(calling, { schedule: { weekdays: 31 } })
    const made = dataOf(await send('GET', `/v1/campaigns/${id}`))
    t.match(made, {
      status: 'draft',
      environment: 'test',
      agent: { name: 'Asha' },
      number: { e164: calling.number },
      pacing: { callsPerMinute: 10, maxConcurrent: 5 },
      retries: { attempts: 2, backoff: 'linear', intervalMinutes: 30, on: ['no_answer', 'busy'] },
      schedule: { startsAt: null, endsAt: null, weekdays: 31, windowStartMinute: 540, windowEndMinute: 1260 },
      progress: { total: 0, dialed: 0, connected: 0, excluded: 0, settled: 0, spentPaise: 0 },
      preflight: null,
      launchedAt: null,
    })
    const patch = {
      name: 'Later',
      retries: { attempts: 4 },
      schedule: { endsAt: '2025-02-01T00:00:00Z' },
      autoPauseBelowPaise: 5_000,
    }
    const changed = await send('PATCH', `/v1/campaigns/${id}`, { json: patch })
    t.match(dataOf(changed), {
      name: 'Later',
      retries: { attempts: 4, intervalMinutes: 30 },
      schedule: { weekdays: 31, endsAt: '2025-02-01T00:00:00.000Z' },
      autoPauseBelowPaise: 5_000,
    })
    for (const [path, json] of [
      ['schedule.windowEndMinute', { schedule: { windowStartMinute: 700, windowEndMinute: 700 } }],
      ['schedule.endsAt', { schedule: { startsAt: '2025-03-01T00:00:00Z' } }],
      ['pacing.maxConcurrent', { pacing: { maxConcurrent: 6 } }],
    ] as const) {
      const refused = await send('PATCH', `/v1/campaigns/${id}`, { json })
      t.match(refused, { status: 422, body: { error: { details: { path } } } })
    }
    t.match(await send('GET', '/v1/campaigns'), {
      body: { data: [{ id }], meta: { pagination: { total: 1 } } },
    })
    await send('POST', `/v1/campaigns/${id}/archive`)
    t.same(itemsOf(await send('GET', '/v1/campaigns')), [])
    t.equal(itemsOf(await send('GET', '/v1/campaigns?archived=true')).length, 1)
    const of = async (status: string) =>
      itemsOf(await send('GET', `/v1/campaigns?archived=true&status=${status}`)).map((row) => row.status)
    t.same(await of('draft'), ['draft'])
    for (const status of ['running', 'unheard_of']) t.same(await of(status), [], status)
    t.match(dataOf(await send('POST', `/v1/campaigns/${id}/unarchive`)), { archivedAt: null, name: 'Later' })
    t.equal((await send('GET', `/v1/campaigns/${id}`, { key: calling.api.liveKey })).status, 404)
    await send('POST', `/v1/campaigns/${id}/recipients`, { json: { recipients: [{ e164: number(1) }] } })
    t.equal((await send('DELETE', `/v1/campaigns/${id}`)).status, 204)
    t.equal((await send('GET', `/v1/campaigns/${id}`)).status, 404)
  })

  await t.test('the agent and the number must exist and fit', async (t) => {
    const calling = await openTestCalling(await open())
    t.teardown(() => calling.close())
    const { send, numberId } = calling
    const agentId = await calling.publishAgent()
    const none = '01JZ0000000000000000000000'
    const refused = async (json: object, status: number, path: string) => {
      const answer = await send('POST', '/v1/campaigns', { json: { name: 'x', agentId, numberId, ...json } })
      t.match(answer, { status, body: { error: { details: { path } } } }, path)
    }
    await refused({ agentId: `agt_${none}` }, 404, 'agentId')
    await refused({ numberId: `num_${none}` }, 404, 'numberId')
    await calling.deps.db.updateTable('numbers').set({ routingMode: 'byo_ws' }).execute()
    await refused({}, 422, 'numberId')
  })

  await t.test('a base that is not built, or is gone, is in the pre-flight', async (t) => {
    const calling = await openTestCalling(await open())
    t.teardown(() => calling.close())
    const { send } = calling
    const base = String(dataOf(await send('POST', '/v1/knowledge-bases', { json: { name: 'Help' } })).id)
    const agentId = await calling.publishAgent({ knowledgeBaseIds: [base] })
    const json = { name: 'Reminders', agentId, numberId: calling.numberId }
    const id = String(dataOf(await send('POST', '/v1/campaigns', { json })).id)
    await send('POST', `/v1/campaigns/${id}/recipients`, { json: { recipients: [{ e164: number(1) }] } })
    const check = async () => {
      const { preflight } = dataOf(await send('POST', `/v1/campaigns/${id}/preflight`))
      const { checks } = preflight as { checks: { type: string }[] }
      return checks.find(({ type }) => type === 'knowledge_base')
    }
    t.match(await check(), { outcome: 'block', reason: 'not_built' })
    const headers = { 'idempotency-key': 'launch' }
    const launched = await send('POST', `/v1/campaigns/${id}/launch`, { json: {}, headers })
    t.match(launched.body, { error: { code: 'knowledge_base_not_ready' } })
    // The version of a campaign keeps the base that its agent has no longer.
    await calling.deps.db.updateTable('campaigns').set({ agentVersion: 1 }).execute()
    await send('PATCH', `/v1/agents/${agentId}`, { json: { knowledgeBaseIds: [] } })
    await send('POST', `/v1/agents/${agentId}/publish`)
    t.equal((await send('DELETE', `/v1/knowledge-bases/${base}`)).status, 204)
    t.match(await check(), { outcome: 'warn', reason: 'deleted' })
  })

  await t.test('the pre-flight warns of calls that are recorded without a notice', async (t) => {
    const calling = await openTestCalling(await open())
    t.teardown(() => calling.close())
    const { send, deps } = calling
    const check = async (id: string) => {
      const { preflight } = dataOf(await send('POST', `/v1/campaigns/${id}/preflight`))
      return (preflight as { checks: { type: string }[] }).checks.find(
        ({ type }) => type === 'recording_notice',
      )
    }
    const recorded = (recordCalls: number) => deps.db.updateTable('numbers').set({ recordCalls }).execute()
    const id = await openCampaign(calling)
    await send('POST', `/v1/campaigns/${id}/recipients`, { json: { recipients: [{ e164: number(1) }] } })
    await recorded(0)
    t.match(await check(id), { outcome: 'pass', reason: 'not_needed' })
    await recorded(1)
    t.match(await check(id), { outcome: 'warn', reason: 'not_given_recorded' })
    const recordingNotice = { text: 'This call is recorded.' }
    const agentId = await calling.publishAgent({ callSettings: { recordingNotice } })
    const json = { name: 'With a notice', agentId, numberId: calling.numberId }
    const other = String(dataOf(await send('POST', '/v1/campaigns', { json })).id)
    await send('POST', `/v1/campaigns/${other}/recipients`, { json: { recipients: [{ e164: number(1) }] } })
    t.match(await check(other), { outcome: 'pass', reason: 'given' })
  })

  await t.test('a launch computes the pre-flight again, and an upload forgets it', async (t) => {
    const calling = await openTestCalling(await open())
    t.teardown(() => calling.close())
    const { send, clock } = calling
    const id = await openCampaign(calling)
    const add = (e164: string) =>
      send('POST', `/v1/campaigns/${id}/recipients`, { json: { recipients: [{ e164 }] } })
    await add(number(1))
    await add(number(2))
    const { preflight: before } = dataOf(await send('POST', `/v1/campaigns/${id}/preflight`))
    t.match(before, { total: 2, callable: 2, excluded: {}, computedAt: new Date(clock.wall()).toISOString() })
    await add(number(3))
    t.match(dataOf(await send('GET', `/v1/campaigns/${id}`)), { preflight: null })
    await send('POST', '/v1/dnc', { json: { e164: number(2), reason: 'Asked by e-mail' } })
    clock.advance(60_000)
    const headers = { 'idempotency-key': 'launch' }
    const launched = await send('POST', `/v1/campaigns/${id}/launch`, { json: {}, headers })
    t.match(dataOf(launched), {
      status: 'running',
      preflight: {
        ...{ total: 3, callable: 2, excluded: { suppressed: 1 } },
        excludedE164s: { suppressed: [number(2)] },
        computedAt: new Date(clock.wall()).toISOString(),
      },
    })
  })

  await t.test('a pause by the operator ends the pause for carrier errors', async (t) => {
    const calling = await openTestCalling(await open())
    t.teardown(() => calling.close())
    const { send, clock } = calling
    const id = await openCampaign(calling)
    const resumesAt = clock.wall() + 300_000
    const change = { status: 'paused', pausedReason: 'carrier_errors', resumesAt, breakerTrips: 1 } as const
    await calling.deps.db.updateTable('campaigns').set(change).execute()
    t.match(dataOf(await send('GET', `/v1/campaigns/${id}`)), {
      resumesAt: new Date(resumesAt).toISOString(),
    })
    for (const _ of [1, 2]) {
      const paused = dataOf(await send('POST', `/v1/campaigns/${id}/pause`))
      t.match(paused, { status: 'paused', pausedReason: 'operator', resumesAt: null })
    }
    t.equal(itemsOf(await send('GET', '/v1/events?type=campaign.paused')).length, 1)
    const resumed = dataOf(await send('POST', `/v1/campaigns/${id}/resume`))
    t.match(resumed, { status: 'running', pausedReason: null, resumesAt: null })
  })

  await t.test('recipients: valid rows are added, the others are told', async (t) => {
    const calling = await openTestCalling(await open())
    t.teardown(() => calling.close())
    const { send } = calling
    const id = await openCampaign(calling)
    const path = `/v1/campaigns/${id}/recipients`
    const recipients = [
      { e164: number(1), externalId: 'a', variables: { name: 'Asha' } },
      { e164: '9812345678' },
      { e164: number(1) },
      { e164: number(2), variables: { 'no name': 'x' } },
      { e164: number(3) },
    ]
    const added = dataOf(await send('POST', path, { json: { recipients } }))
    t.match(added, {
      imported: 2,
      rejected: [
        { index: 1, e164: '9812345678', code: 'validation_error' },
        { index: 2, e164: number(1), code: 'conflict' },
        { index: 3, code: 'validation_error' },
      ],
    })
    const rows = itemsOf(await send('GET', `${path}?limit=1`))
    t.match(rows, [
      { e164: number(1), externalId: 'a', variables: { name: 'Asha' }, status: 'pending', attempts: 0 },
    ])
    const rest = await send('GET', `${path}?e164=${encodeURIComponent(number(3))}`)
    t.match(rest, { body: { data: [{ e164: number(3) }], meta: { pagination: { total: 1 } } } })
    const recipientId = String(itemsOf(rest)[0]?.id)
    t.equal((await send('GET', `${path}/${recipientId}`)).status, 200)
    t.equal((await send('DELETE', `${path}/${recipientId}`)).status, 204)
    t.equal((await send('DELETE', `${path}/${recipientId}`)).status, 404)
    t.match(dataOf(await send('GET', `/v1/campaigns/${id}`)), { progress: { total: 1 } })
    await calling.deps.db.updateTable('campaigns').set({ status: 'running' }).execute()
    t.equal((await send('POST', path, { json: { recipients: [{ e164: number(9) }] } })).status, 409)
  })

  await t.test('CSV: all valid rows at once, each bad one with its line', async (t) => {
    const calling = await openTestCalling(await open())
    t.teardown(() => calling.close())
    const id = await openCampaign(calling)
    const path = `/v1/campaigns/${id}/recipients/import`
    const upload = (text: string) =>
      calling.send('POST', path, { raw: text, headers: { 'content-type': 'text/csv' } })
    const lines = Array.from({ length: 1_200 }, (_, i) => `${number(i)},"Shah, ${i}",c${i}`)
    lines[600] = `${number(600)},Rao,c600,,`
    lines[700] = `${number(3)},again,`
    lines[800] = `${number(800)},Shah, Asha,c800`
    lines[900] = '12345,bad,'
    const result = dataOf(await upload(`\uFEFFphone,name,externalId\r\n${lines.join('\r\n')}\r\n`))
    t.match(result, {
      imported: 1_197,
      rejected: [
        { index: 700, line: 702, e164: number(3), code: 'conflict' },
        { index: 800, line: 802, e164: number(800), code: 'validation_error', reason: 'column_count' },
        { index: 900, line: 902, e164: '12345', code: 'validation_error' },
      ],
    })
    const [first] = itemsOf(await calling.send('GET', `/v1/campaigns/${id}/recipients?limit=1`))
    t.match(first, { e164: number(0), externalId: 'c0', variables: { name: 'Shah, 0' } })

    // Spreadsheets write empty columns at the end of every row, sometimes blanks in them.
    const wide = ','.repeat(60)
    const sheet = [
      `phone,name${wide}`,
      `${number(3_000)},Rao${wide}`,
      `${number(3_001)},Shah, , `,
      `${number(3_002)}${wide},x`,
    ]
    t.match(dataOf(await upload(sheet.join('\n'))), {
      imported: 2,
      rejected: [{ index: 2, line: 4, code: 'validation_error', reason: 'column_count' }],
    })
    t.equal(
      (await upload(`phone,,name\n${number(3_003)},,x`)).status,
      400,
      'a column between others has no name',
    )

    // Spreadsheets write the delimiter of their country.
    for (const [at, delimiter] of [';', '\t', '|'].entries()) {
      const cells = (...row: string[]) => row.join(delimiter)
      const list = [
        cells('phone', 'name', 'amount'),
        cells(number(4_000 + at), '"Rao; Asha, \t|x"', '1,50'),
        cells(number(4_010 + at), 'Shah', '2', 'x'),
        cells(number(4_020 + at), 'Iyer', ''),
      ]
      const stated = at === 0 ? 'sep=;\r\n' : ''
      t.match(dataOf(await upload(`\uFEFF${stated}${list.join('\r\n')}`)), {
        imported: 2,
        rejected: [{ index: 1, line: at === 0 ? 4 : 3, reason: 'column_count' }],
      })
      const e164 = encodeURIComponent(number(4_000 + at))
      t.match(itemsOf(await calling.send('GET', `/v1/campaigns/${id}/recipients?e164=${e164}`)), [
        { variables: { name: 'Rao; Asha, \t|x', amount: '1,50' } },
      ])
    }
    const added = 2 * 3

    const headers = { 'content-type': 'text/csv', 'idempotency-key': 'list' }
    const keyed = (raw: string) => calling.send('POST', path, { raw, headers })
    const once = `e164\n${number(2_000)}\n`
    t.match(dataOf(await keyed(once)), { imported: 1, rejected: [] })
    t.match(dataOf(await keyed(once)), { imported: 1, rejected: [] }, 'a retry gets the first answer')
    t.match(await keyed(`${once}${number(2_001)}\n`), {
      body: { error: { code: 'idempotency_key_reused_with_different_params' } },
    })

    const more = Array.from({ length: 1_200 }, (_, i) => number(i + 5_000)).join('\n')
    for (const [text, status] of [
      [`e164\n${more}\n"${number(1)}`, 400],
      ['name\nx\n', 400],
      [`e164,phone\n${more}`, 400],
      [`e164,a b\n${more}`, 400],
      ['', 400],
      [`e164\n${'x'.repeat(11 * 1024 * 1024)}`, 400],
    ] as const) {
      t.equal((await upload(text)).status, status, text.slice(0, 20))
    }
    const { db } = calling.deps
    const stored = await db
      .selectFrom('campaignRecipients')
      .select((eb) => eb.fn.countAll<number>().as('n'))
      .executeTakeFirstOrThrow()
    t.equal(stored.n, 1_200 + added, 'a body that cannot be read imports nothing')
    t.match(dataOf(await calling.send('GET', `/v1/campaigns/${id}`)), { progress: { total: 1_200 + added } })

    // A process that died in the middle of an import leaves rows above the mark.
    const row = await db.selectFrom('campaignRecipients').selectAll().executeTakeFirstOrThrow()
    await db
      .insertInto('campaignRecipients')
      .values({ ...row, id: 'rcp_left', e164: number(5_000), position: 100_000 })
      .execute()
    await db
      .updateTable('campaigns')
      .set({ importId: 'dead', importUntil: calling.clock.wall() + 1_000 })
      .execute()
    t.equal(
      itemsOf(await calling.send('GET', `/v1/campaigns/${id}/recipients?e164=%2B919800005000`)).length,
      0,
    )
    t.equal((await upload(`e164\n${number(5_000)}\n`)).status, 409, 'while its lease lasts')
    calling.clock.advance(2_000)
    t.match(dataOf(await upload(`e164\n${number(5_000)}\n`)), { imported: 1, rejected: [] })
  })
})
