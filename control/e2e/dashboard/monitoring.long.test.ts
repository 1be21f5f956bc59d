import t from 'tap'
import { REQUEST_MS } from '../../../fixtures/host/deadlines.js'
import { until } from '../../../fixtures/host/until.js'
import { CHROMIUM } from '../../../fixtures/service/chromium.js'
import { temporaryFolder } from '../../../fixtures/service/cli.js'
import { openBrowser, openDashboard, signInOwner } from '../../../fixtures/service/dashboard.js'
import { sessionSend, startForDashboard } from '../../../fixtures/service/dashboard-data.js'

/*
 * Listening to a running call in a real browser, and taking it over: what the page plays, and the keys L and T.
 */

const skip = CHROMIUM === null ? 'chromium is not installed' : false
const PERSON = '+9190000000'
/** The loudest sample that the page gave to its loudspeaker, and how long all of them last (s). */
const WATCH = `
  globalThis.played = { loudest: 0, seconds: 0 }
  const start = AudioBufferSourceNode.prototype.start
  AudioBufferSourceNode.prototype.start = function (...when) {
    const { played } = globalThis
    played.seconds += this.buffer.duration
    for (const sample of this.buffer.getChannelData(0)) played.loudest = Math.max(played.loudest, Math.abs(sample))
    return start.apply(this, when)
  }`

t.test('listening and taking over in a browser', { skip, timeout: 250_000 }, async (t) => {
  const folder = await temporaryFolder(t)
  const service = await startForDashboard(t, folder)
  const browser = await openBrowser(CHROMIUM ?? '')
  t.teardown(() => browser.close())
  const url = `${service.httpUrl}/dashboard/`
  const view = { language: 'en', colours: 'light', width: 1440 } as const
  const dashboard = await openDashboard(browser, url, view)
  const { page } = dashboard
  await page.addInitScript(WATCH)
  await signInOwner(page, service)

  const [number] = (await service.api('GET', '/v1/numbers')) as unknown as { readonly id: string }[]
  const { id: agentId } = await service.api('POST', '/v1/agents', {
    name: 'Clinic',
    systemPrompt: 'You book appointments for a clinic.',
    callSettings: { openingLine: { text: 'Hello, this is the clinic.' }, nudges: { enabled: false } },
  })
  await service.api('POST', `/v1/agents/${agentId}/publish`, {})
  const { id: desk } = await service.api('POST', '/v1/transfer-destinations', {
    ...{ key: 'desk', label: 'Desk', e164: `${PERSON}12` },
  })
  await service.api('POST', `/v1/transfer-destinations/${desk}/verify`, {})
  await service.api('POST', `/v1/transfer-destinations/${desk}/confirm`, { code: '000000' })
  // Talks for ever.
  const call = await service.api('POST', '/v1/calls', { to: `${PERSON}09`, numberId: number?.id, agentId })

  await dashboard.show('test/live-calls')
  // The call that verified the telephone may still be there.
  const row = page.getByRole('row', { name: `${PERSON}09` })
  await row.getByRole('cell', { name: 'In progress' }).waitFor()
  await row.getByRole('link').press('l')
  await page.getByText(`You hear the call with ${PERSON}09.`).waitFor()
  const played = () => page.evaluate('globalThis.played') as Promise<{ loudest: number; seconds: number }>
  await until(async () => (await played()).loudest > 0.1 && (await played()).seconds > 2)
  const levels = async () =>
    (
      await page
        .locator('meter.level')
        .evaluateAll((meters) =>
          meters.map((meter) => Number((meter as unknown as { dataset: { level: string } }).dataset.level)),
        )
    ).map((level) => level > 0.01)
  await until(async () => (await levels())[0] === true)
  await until(async () => (await levels())[1] === true)
  t.same(await dashboard.audit(), [])
  const monitors = () => service.api('GET', `/v1/calls/${call.id}/monitors`) as unknown as Promise<object[]>
  t.match(await monitors(), [{ mode: 'listen', endedAt: null }])
  await page.getByRole('button', { name: 'Stop listening' }).click()
  await until(async () => !JSON.stringify(await monitors()).includes('"endedAt":null'), {
    everyMs: REQUEST_MS,
  })

  await row.getByRole('link').press('t')
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Your telephone').waitFor()
  t.same(await dashboard.audit(), [], 'the choice of the telephone')
  await dialog.getByRole('button', { name: 'Take over by telephone' }).click()
  await dialog.getByText('You have the caller.').waitFor()
  t.same(await dashboard.audit(), [], 'while a person has the call')
  await dialog.getByLabel('Message for the agent').fill('Ask for the order number.')
  await dialog.getByRole('button', { name: 'Hand back' }).click()
  await dialog.getByText('Last takeover: handed back.').waitFor()
  await page.keyboard.press('Escape')

  await dashboard.show(`test/calls/${call.id}`)
  const part = page.getByRole('region', { name: 'Listening and taking over' })
  await part.getByText('You took over').waitFor()
  await part.getByRole('button', { name: 'Listen' }).press('l')
  await part.getByText('You hear the call').waitFor()
  for (const width of [320, 768, 1440]) {
    await dashboard.resize(width)
    t.same(await dashboard.audit(), [], `the page of the call, ${width} px`)
  }
  await sessionSend(page, 'POST', `/v1/calls/${call.id}/hangup`, {})
  await part.getByText(`The call with ${PERSON}09 has ended.`).waitFor()

  await sessionSend(page, 'PATCH', '/v1/organization', { monitoring: { test: 'off' } })
  await dashboard.show(`test/calls/${call.id}`)
  await part.getByText('You listened').first().waitFor()
  t.equal(await part.getByRole('button').count(), 0, 'who may not is offered nothing')
  t.same(dashboard.faults, [])
  await dashboard.close()
  service.cli.process.kill('SIGTERM')
  t.equal(await service.cli.exit(), 0)
})
