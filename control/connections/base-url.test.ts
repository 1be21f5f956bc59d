import t from 'tap'
import { isBelow } from './base-url.js'

t.test('URLs below the base URL of a connection', async (t) => {
  const rows: readonly [string, string, boolean][] = [
    ['https://crm.example.com/v1/orders?x=1', 'https://crm.example.com/v1', true],
    ['https://crm.example.com/v1', 'https://crm.example.com/v1/', true],
    ['https://CRM.example.com:443/v1/', 'https://crm.example.com/v1', true],
    ['https://crm.example.com/anything', 'https://crm.example.com', true],
    ['https://crm.example.com/v10', 'https://crm.example.com/v1', false],
    ['https://crm.example.com/v2/orders', 'https://crm.example.com/v1', false],
    ['https://crm.example.com/v1/../admin', 'https://crm.example.com/v1', false],
    ['https://crm.example.com/v1/%2e%2e/admin', 'https://crm.example.com/v1', false],
    ['https://crm.example.com/v1/%2E%2e%2fadmin', 'https://crm.example.com/v1', false],
    ['https://crm.example.com/v1/a%2Fb..c', 'https://crm.example.com/v1', true],
    ['http://crm.example.com/v1', 'https://crm.example.com/v1', false],
    ['https://crm.example.com:8443/v1', 'https://crm.example.com/v1', false],
    ['https://attacker.example/v1', 'https://crm.example.com/v1', false],
  ]
  for (const [url, base, expected] of rows) t.equal(isBelow(url, base), expected, `${url} ${base}`)
})
