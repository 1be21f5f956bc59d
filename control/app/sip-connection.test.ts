import t from 'tap'
import { EngineError } from '../../media/base/errors.js'
import { sandboxTarget, sipAddressText, withSettingName } from './sip-connection.js'

const at = (transport: string, address: string, port = 5060) => ({ transport, address, port })

t.test('the simulated carrier reaches the service at an address of this machine', async (t) => {
  const target = (...endpoints: readonly ReturnType<typeof at>[]) => {
    const { transport, host, port } = sandboxTarget(endpoints)
    return `${transport} ${host} ${port}`
  }
  t.equal(target(at('tcp', '127.0.0.1'), at('udp', '10.0.0.5')), 'udp 10.0.0.5 5060', 'UDP before TCP')
  t.equal(target(at('udp', '::1'), at('udp', '10.0.0.5'), at('udp', '127.0.0.1')), 'udp 127.0.0.1 5060')
  t.equal(target(at('udp', '::1'), at('udp', '10.0.0.5')), 'udp 10.0.0.5 5060', 'IPv4 before IPv6')
  t.equal(target(at('udp', '0.0.0.0', 5070)), 'udp 127.0.0.1 5070')
  t.equal(target(at('udp', '::')), 'udp ::1 5060')
  t.equal(target(at('tls', '127.0.0.1'), at('tcp', '127.0.0.1', 5061)), 'tcp 127.0.0.1 5061')
  t.throws(() => sandboxTarget([at('tls', '127.0.0.1')]), { code: 'config_invalid' })
})

t.test('SIP addresses are written as in the setting', async (t) => {
  t.equal(sipAddressText(at('udp', '10.0.0.5')), 'udp:10.0.0.5:5060')
  t.equal(sipAddressText(at('tcp', '2001:db8::1')), 'tcp:[2001:db8::1]:5060')
})

t.test('errors name the setting and a remedy', async (t) => {
  for (const code of ['config_invalid', 'sip_failed', 'port_unavailable'] as const) {
    const failing = Promise.reject(new EngineError(code, 'it failed'))
    await t.rejects(withSettingName('PARLEY_DRACHTIO_URL', failing), {
      code,
      message: /^PARLEY_DRACHTIO_URL: it failed; /,
    })
  }
  await t.rejects(withSettingName('X', Promise.reject(new EngineError('internal', 'a bug'))), {
    message: 'a bug',
  })
})
