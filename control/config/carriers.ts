import { httpUrl, type Parsed } from './parsers.js'

/** Variables of the carriers that sell numbers. */
export const CARRIER_VARIABLES = [
  {
    name: 'PARLEY_VOBIZ_AUTH_ID',
    default: '',
    description: 'Account of the carrier Vobiz; empty sells no numbers of it',
  },
  { name: 'PARLEY_VOBIZ_AUTH_TOKEN', default: '', description: 'Token of that account', secret: true },
  {
    name: 'PARLEY_VOBIZ_INBOUND_TRUNK',
    default: '',
    description: 'Id of the inbound trunk at Vobiz that leads to this service',
  },
  {
    name: 'PARLEY_VOBIZ_WEBHOOK_SECRET',
    default: '',
    description:
      'Secret of the webhooks of the trunks at Vobiz, and `t` of their address; empty refuses webhooks',
    secret: true,
  },
  { name: 'PARLEY_VOBIZ_URL', default: 'https://api.vobiz.ai/api/v1', description: 'Vobiz URL' },
  {
    name: 'PARLEY_PLIVO_AUTH_ID',
    default: '',
    description: 'Account of the carrier Plivo that bills in rupees; empty sells no numbers of it',
  },
  { name: 'PARLEY_PLIVO_AUTH_TOKEN', default: '', description: 'Token of that account', secret: true },
  {
    name: 'PARLEY_PLIVO_INBOUND_TRUNK',
    default: '',
    description: 'Id of the inbound trunk at Plivo that leads to this service',
  },
  {
    name: 'PARLEY_PLIVO_CURRENCY',
    default: '',
    description: 'Currency of the account at Plivo, whose API does not tell it; only `INR` can be used',
  },
  {
    name: 'PARLEY_PLIVO_COMPLIANCE_APPLICATION',
    default: '',
    description: 'Id of the accepted compliance application at Plivo; empty lets Plivo choose',
  },
  { name: 'PARLEY_PLIVO_URL', default: 'https://api.plivo.com/v1', description: 'Plivo URL' },
  {
    name: 'PARLEY_EXOTEL_ACCOUNT_SID',
    default: '',
    description: 'Account of the carrier Exotel; empty sells no numbers of it',
  },
  { name: 'PARLEY_EXOTEL_API_KEY', default: '', description: 'API key of that account' },
  { name: 'PARLEY_EXOTEL_API_TOKEN', default: '', description: 'API token of that account', secret: true },
  {
    name: 'PARLEY_EXOTEL_TRUNK',
    default: '',
    description: 'Id of the trunk at Exotel that leads to this service',
  },
  {
    name: 'PARLEY_EXOTEL_FLOW',
    default: '',
    description: 'Id of the flow at Exotel that connects inbound calls to that trunk',
  },
  { name: 'PARLEY_EXOTEL_URL', default: 'https://api.in.exotel.com', description: 'Exotel URL' },
] as const

type Name = (typeof CARRIER_VARIABLES)[number]['name']
type Given = (name: Name) => string | null
type Read = <T>(name: Name, fallback: string, parse: (value: string) => Parsed<T>) => T | null

export interface CarrierSettings {
  readonly vobiz: {
    readonly url: string
    readonly authId: string
    readonly authToken: string
    readonly inboundTrunk: string
    readonly webhookSecret: string | null
  } | null
  readonly plivo: {
    readonly url: string
    readonly authId: string
    readonly authToken: string
    readonly inboundTrunk: string
    readonly complianceApplication: string | null
  } | null
  readonly exotel: {
    readonly url: string
    readonly accountSid: string
    readonly apiKey: string
    readonly apiToken: string
    readonly trunk: string
    readonly flow: string
  } | null
}

/** Reads the accounts at carriers. An account without its token or trunk is a complaint. */
export function readCarriers(given: Given, read: Read, complain: (line: string) => void): CarrierSettings {
  const urlOf = (name: Name, fallback: string) =>
    read(name, fallback, httpUrl)?.replace(/\/{1,16}$/, '') ?? ''
  const of = (account: Name) => (name: Name, what: string) => {
    const value = given(name)
    if (value === null) complain(`${name}: set ${what}, or remove ${account}`)
    return value ?? ''
  }
  const urls = {
    vobiz: urlOf('PARLEY_VOBIZ_URL', 'https://api.vobiz.ai/api/v1'),
    plivo: urlOf('PARLEY_PLIVO_URL', 'https://api.plivo.com/v1'),
    exotel: urlOf('PARLEY_EXOTEL_URL', 'https://api.in.exotel.com'),
  }
  return {
    vobiz: readVobiz(urls.vobiz, given, of('PARLEY_VOBIZ_AUTH_ID'), complain),
    plivo: readPlivo(urls.plivo, given, of('PARLEY_PLIVO_AUTH_ID'), complain),
    exotel: readExotel(urls.exotel, given, of('PARLEY_EXOTEL_ACCOUNT_SID')),
  }
}

type Required = (name: Name, what: string) => string

/** Shortest secret of webhooks (characters). */
const SECRET_MIN = 16

function readVobiz(
  url: string,
  given: Given,
  required: Required,
  complain: (line: string) => void,
): CarrierSettings['vobiz'] {
  const authId = given('PARLEY_VOBIZ_AUTH_ID')
  if (authId === null) return null
  const webhookSecret = given('PARLEY_VOBIZ_WEBHOOK_SECRET')
  if (webhookSecret !== null && webhookSecret.length < SECRET_MIN) {
    complain(`PARLEY_VOBIZ_WEBHOOK_SECRET: must have at least ${SECRET_MIN} characters`)
  }
  return {
    url,
    authId,
    authToken: required('PARLEY_VOBIZ_AUTH_TOKEN', 'the token of the account'),
    inboundTrunk: required('PARLEY_VOBIZ_INBOUND_TRUNK', 'the id of the inbound trunk'),
    webhookSecret,
  }
}

function readPlivo(
  url: string,
  given: Given,
  required: Required,
  complain: (line: string) => void,
): CarrierSettings['plivo'] {
  const authId = given('PARLEY_PLIVO_AUTH_ID')
  if (authId === null) return null
  // Prices in another currency would be charged as rupees.
  if (given('PARLEY_PLIVO_CURRENCY') !== 'INR') {
    complain('PARLEY_PLIVO_CURRENCY: must be INR, the currency of the wallet')
  }
  return {
    url,
    authId,
    authToken: required('PARLEY_PLIVO_AUTH_TOKEN', 'the token of the account'),
    inboundTrunk: required('PARLEY_PLIVO_INBOUND_TRUNK', 'the id of the inbound trunk'),
    complianceApplication: given('PARLEY_PLIVO_COMPLIANCE_APPLICATION'),
  }
}

function readExotel(url: string, given: Given, required: Required): CarrierSettings['exotel'] {
  const accountSid = given('PARLEY_EXOTEL_ACCOUNT_SID')
  if (accountSid === null) return null
  return {
    url,
    accountSid,
    apiKey: required('PARLEY_EXOTEL_API_KEY', 'the key of the account'),
    apiToken: required('PARLEY_EXOTEL_API_TOKEN', 'the token of the account'),
    trunk: required('PARLEY_EXOTEL_TRUNK', 'the id of the trunk'),
    flow: required('PARLEY_EXOTEL_FLOW', 'the id of the flow'),
  }
}
