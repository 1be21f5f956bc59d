import t from 'tap'
import { coversHost, hostOf, parseHost } from './hosts.js'

t.test('hosts of a secret are names, addresses and subdomains of a name', async (t) => {
  const rows: readonly [string, string | null][] = [
    ['crm.example.com', 'crm.example.com'],
    ['CRM.Example.com.', 'crm.example.com'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['localhost', 'localhost'],
    ['*.example.com', '*.example.com'],
    ['203.0.113.7', '203.0.113.7'],
    ['2001:DB8::1', '[2001:db8::1]'],
    ['[2001:db8::1]', '[2001:db8::1]'],
    ['*', null],
    ['*.com', null],
    ['*.203.0.113.7', null],
    ['a.*.com', null],
    ['**.example.com', null],
    ['https://crm.example.com', null],
    ['crm.example.com/v1', null],
    ['crm.example.com:8443', null],
    ['user@crm.example.com', null],
    ['crm.example.com ', null],
    ['a b', null],
    ['', null],
    ['.', null],
  ]
  for (const [text, expected] of rows) t.equal(parseHost(text), expected, text)
})

t.test('which URLs a secret may be sent to', async (t) => {
  const covers = (hosts: readonly string[], url: string) => coversHost(hosts, hostOf(url))
  const rows: readonly [readonly string[], string, boolean][] = [
    [['crm.example.com'], 'https://CRM.example.com./v1', true],
    [['crm.example.com'], 'https://crm.example.com:8443/', true],
    [['crm.example.com'], 'https://crm.example.com.attacker.example/', false],
    [['crm.example.com'], 'https://attacker.example/crm.example.com', false],
    [['crm.example.com'], 'https://xcrm.example.com/', false],
    [['*.example.com'], 'wss://a.example.com/', true],
    [['*.example.com'], 'wss://b.a.example.com/', true],
    [['*.example.com'], 'https://example.com/', false],
    [['*.example.com'], 'https://badexample.com/', false],
    [['a.example', '[2001:db8::1]'], 'https://[2001:db8::1]/', true],
    [['crm.example.com'], 'tcp://CRM.example.com:9000', true],
    [[], 'https://crm.example.com/', false],
  ]
  for (const [hosts, url, expected] of rows) t.equal(covers(hosts, url), expected, `${hosts} ${url}`)
})
