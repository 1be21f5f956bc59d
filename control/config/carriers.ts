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
  { name: 'PARLEY_VOBIZ_URL', default: 'https://api.vobiz.ai/api/v1', description: 'Vobiz URL' },
] as const

type Name = (typeof CARRIER_VARIABLES)[number]['name']
type Read = <T>(name: Name, fallback: string, parse: (value: string) => Parsed<T>) => T | null

export interface CarrierSettings {
  readonly vobiz: {
    readonly url: string
    readonly authId: string
    readonly authToken: string
    readonly inboundTrunk: string
  } | null
}

/** Reads the accounts at carriers. An account without its token or trunk is a complaint. */
export function readCarriers(
  given: (name: Name) => string | null,
  read: Read,
  complain: (line: string) => void,
): CarrierSettings {
  const url = read('PARLEY_VOBIZ_URL', 'https://api.vobiz.ai/api/v1', httpUrl)
  const authId = given('PARLEY_VOBIZ_AUTH_ID')
  if (authId === null || url === null) return { vobiz: null }
  const required = (name: Name, what: string): string => {
    const value = given(name)
    if (value === null) complain(`${name}: set ${what}, or remove PARLEY_VOBIZ_AUTH_ID`)
    return value ?? ''
  }
  return {
    vobiz: {
      url: url.replace(/\/+$/, ''),
      authId,
      authToken: required('PARLEY_VOBIZ_AUTH_TOKEN', 'the token of the account'),
      inboundTrunk: required('PARLEY_VOBIZ_INBOUND_TRUNK', 'the id of the inbound trunk'),
    },
  }
}
