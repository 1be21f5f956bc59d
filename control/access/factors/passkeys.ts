import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server'
import type { SecondFactorRow } from '../../db/tables/factors.js'
import type { RelyingParty } from './relying-party.js'
import { FACTOR_ISSUER } from './totp.js'

/*
 * Passkeys as second factors (WebAuthn Level 3, https://www.w3.org/TR/webauthn-3/). The password is the other factor,
 * so a passkey need not verify its user. The library loads at the first use of a passkey.
 */

/** A passkey as it is stored. */
export interface StoredPasskey {
  readonly credentialId: string
  /** COSE key (base64url). */
  readonly publicKey: string
  readonly counter: number
  readonly transports: readonly string[]
  readonly rpId: string
}

/** Reason for refusing an answer of a browser. `origin`: its page belongs to another address. */
export type PasskeyProblem = 'origin' | 'wrong'

type Passkey = Pick<SecondFactorRow, 'credentialId' | 'publicKey' | 'counter' | 'transports' | 'rpId'>

/** Returns what a browser needs to make a passkey. `known` are the passkeys that the account has. */
export async function registrationOptions(
  party: RelyingParty,
  user: { readonly id: string; readonly email: string; readonly name: string },
  known: readonly Passkey[],
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  const { generateRegistrationOptions } = await import('@simplewebauthn/server')
  return generateRegistrationOptions({
    rpName: FACTOR_ISSUER,
    rpID: party.id,
    userName: user.email,
    userDisplayName: user.name,
    userID: new Uint8Array(Buffer.from(user.id)),
    attestationType: 'none',
    excludeCredentials: descriptors(party, known),
    authenticatorSelection: { residentKey: 'discouraged', userVerification: 'preferred' },
  })
}

/** Checks the answer to `registrationOptions`. */
export async function checkRegistration(
  party: RelyingParty,
  challenge: string,
  response: RegistrationResponseJSON,
): Promise<StoredPasskey | PasskeyProblem> {
  if (isFromElsewhere(party, response.response.clientDataJSON)) return 'origin'
  const { verifyRegistrationResponse } = await import('@simplewebauthn/server')
  const checked = await outcome(() =>
    verifyRegistrationResponse({
      response,
      expectedChallenge: challenge,
      expectedOrigin: party.origin,
      expectedRPID: party.id,
      requireUserVerification: false,
    }),
  )
  if (checked?.verified !== true) return 'wrong'
  const { credential } = checked.registrationInfo
  return {
    credentialId: credential.id,
    publicKey: Buffer.from(credential.publicKey).toString('base64url'),
    counter: credential.counter,
    transports: credential.transports ?? [],
    rpId: party.id,
  }
}

/** Returns what a browser needs to use one of the passkeys. Returns null if none of them works at this address. */
export async function assertionOptions(
  party: RelyingParty | null,
  challenge: string,
  known: readonly Passkey[],
): Promise<PublicKeyCredentialRequestOptionsJSON | null> {
  const allowCredentials = party === null ? [] : descriptors(party, known)
  if (party === null || allowCredentials.length === 0) return null
  const { generateAuthenticationOptions } = await import('@simplewebauthn/server')
  return generateAuthenticationOptions({
    rpID: party.id,
    challenge: new Uint8Array(Buffer.from(challenge, 'base64url')),
    allowCredentials,
    userVerification: 'preferred',
  })
}

/** Checks the answer to `assertionOptions` of the passkey that it names. Returns the new value of its counter. */
export async function checkAssertion(
  party: RelyingParty,
  challenge: string,
  response: AuthenticationResponseJSON,
  passkey: Passkey,
): Promise<{ readonly counter: number } | PasskeyProblem> {
  if (isFromElsewhere(party, response.response.clientDataJSON)) return 'origin'
  const { credentialId, publicKey, counter, rpId } = passkey
  if (credentialId === null || publicKey === null || rpId !== party.id) return 'wrong'
  const { verifyAuthenticationResponse } = await import('@simplewebauthn/server')
  const checked = await outcome(() =>
    verifyAuthenticationResponse({
      response,
      expectedChallenge: challenge,
      expectedOrigin: party.origin,
      expectedRPID: party.id,
      requireUserVerification: false,
      credential: {
        id: credentialId,
        publicKey: new Uint8Array(Buffer.from(publicKey, 'base64url')),
        counter: Number(counter ?? 0),
      },
    }),
  )
  return checked?.verified === true ? { counter: checked.authenticationInfo.newCounter } : 'wrong'
}

function descriptors(party: RelyingParty, known: readonly Passkey[]) {
  return known.flatMap(({ credentialId, transports, rpId }) =>
    credentialId === null || rpId !== party.id
      ? []
      : [{ id: credentialId, transports: JSON.parse(transports ?? '[]') as string[] }],
  )
}

/** Returns the result of a check of the library, or null. The library throws when it does not accept an answer. */
async function outcome<T>(check: () => Promise<T>): Promise<T | null> {
  try {
    return await check()
  } catch {
    return null
  }
}

/**
 * Returns whether a page of another origin made the answer. Returns false for an answer that cannot be read: the
 * library refuses it.
 */
function isFromElsewhere(party: RelyingParty, clientDataJson: string): boolean {
  try {
    const data: unknown = JSON.parse(Buffer.from(clientDataJson, 'base64url').toString('utf8'))
    return (
      typeof data === 'object' &&
      data !== null &&
      'origin' in data &&
      typeof data.origin === 'string' &&
      data.origin !== party.origin
    )
  } catch {
    return false
  }
}
