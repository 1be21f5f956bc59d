import t from 'tap'
import { acceptedSignatures, openReceiver } from '../../../fixtures/api/webhooks.js'
import { until } from '../../../fixtures/host/until.js'
import { runCli, temporaryFolder } from '../../../fixtures/service/cli.js'
import { openService } from '../../../fixtures/service/service.js'

/*
 * The whole service: a sandbox call, its webhooks on the wire, and a developer who listens.
 */

t.test('a call is reported by signed webhooks and by parley webhooks listen', async (t) => {
  const receiver = await openReceiver()
  const local = await openReceiver()
  t.teardown(async () => {
    await receiver.close()
    await local.close()
  })
  const service = await openService(t, { env: { PARLEY_ALLOW_PRIVATE_URLS: 'true' } })
  const asLive = { authorization: `Bearer ${service.keys.live}` }
  const made = await service.send(
    'POST',
    '/v1/integrations/webhooks',
    { url: receiver.url, events: ['call.initiated', 'call.completed', 'call.failed'] },
    asLive,
  )
  t.equal(made.status, 201)
  const { secret } = made.body.data as { secret: string }

  const listening = runCli(t, await temporaryFolder(t), [
    'webhooks',
    'listen',
    ...['--forward', local.url],
    ...['--key', service.keys.test],
    ...['--api', service.parley.httpUrl],
    ...['--events', 'call.failed'],
    ...['--secret', 'whsec_local'],
  ])
  await until(() => listening.stdout.includes('Listening.'))

  const callId = await service.call('+919000000002')
  const call = await service.ended(callId)
  t.equal(call.disposition, 'busy')
  await until(() => receiver.received.length === 3 && local.received.length === 1)
  t.strictSame(receiver.received.map(({ headers }) => headers['x-svc-event']).toSorted(), [
    'call.completed',
    'call.failed',
    'call.initiated',
  ])
  for (const got of receiver.received) t.equal(acceptedSignatures(got, secret), 1)
  const failed = receiver.received.find(({ headers }) => headers['x-svc-event'] === 'call.failed')
  t.strictSame(JSON.parse(failed?.body ?? '').data, { call }, 'the payload is what GET answers')
  const [forwarded] = local.received
  if (forwarded === undefined) throw new Error('nothing was forwarded')
  t.equal(acceptedSignatures(forwarded, 'whsec_local'), 1)
  t.strictSame(JSON.parse(forwarded.body), JSON.parse(failed?.body ?? ''), 'the same event to both')

  // The answer of the local endpoint arrives after its request.
  await listening.printed(/call\.failed .* -> 200/)
  listening.process.kill('SIGINT')
  t.equal(await listening.exit(), 0)
})
