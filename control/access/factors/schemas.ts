import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import { z } from 'zod'
import { idParam, oneLine, openEnum, Timestamp } from '../../base/schemas.js'

/** Maximum length of the texts in the answer of a browser, far above that of post-quantum keys. */
const Base64Url = z
  .string()
  .min(1)
  .max(16_384)
  .regex(/^[\w-]+={0,2}$/, 'must be base64url')

/** Maximum number of fields of an object to which browsers may add some. */
const MAX_FIELDS = 50

function fewFields<T extends z.ZodRawShape>(shape: T) {
  return z
    .looseObject(shape)
    .refine((value) => Object.keys(value).length <= MAX_FIELDS, `at most ${MAX_FIELDS} fields`)
    .meta({ maxProperties: MAX_FIELDS })
}

const credential = {
  id: Base64Url,
  rawId: Base64Url,
  type: z.literal('public-key'),
  authenticatorAttachment: z.string().max(40).nullish(),
  clientExtensionResults: fewFields({}),
}

/** `PublicKeyCredential.toJSON()` of a new passkey (WebAuthn, section 5.1). Browsers may add fields, which are ignored. */
export const Attestation = fewFields({
  ...credential,
  response: fewFields({
    clientDataJSON: Base64Url,
    attestationObject: Base64Url,
    transports: z.array(z.string().max(40)).max(10).optional(),
  }),
})
  .transform((value) => value as unknown as RegistrationResponseJSON)
  .meta({ description: 'PublicKeyCredential.toJSON() of the new passkey.' })

/** `PublicKeyCredential.toJSON()` of a used passkey. Browsers may add fields, which are ignored. */
export const Assertion = fewFields({
  ...credential,
  response: fewFields({
    clientDataJSON: Base64Url,
    authenticatorData: Base64Url,
    signature: Base64Url,
    userHandle: Base64Url.nullish(),
  }),
})
  .transform((value) => value as unknown as AuthenticationResponseJSON)
  .meta({ description: 'PublicKeyCredential.toJSON() of the used passkey.' })

export const TotpCode = z
  .string()
  .regex(/^\d{6}$/, 'must have six digits')
  .meta({ description: 'Six digits of the authenticator app.' })

export const ChallengeId = z.string().min(1).max(100)

export const ProofBody = z
  .strictObject({
    challengeId: ChallengeId,
    code: TotpCode.optional(),
    assertion: Assertion.optional(),
    recoveryCode: z.string().min(1).max(40).optional(),
  })
  .refine(
    ({ code, assertion, recoveryCode }) =>
      [code, assertion, recoveryCode].filter((proof) => proof !== undefined).length === 1,
    'send exactly one of code, assertion and recoveryCode',
  )

export const ConfirmBody = z
  .strictObject({ code: TotpCode.optional(), attestation: Attestation.optional() })
  .refine(
    ({ code, attestation }) => (code === undefined) !== (attestation === undefined),
    'send exactly one of code and attestation',
  )

export const FactorName = oneLine(60)
export const FactorPath = z.object({ id: idParam('fac') })

export const Factor = z.object({
  id: z.string(),
  kind: openEnum('totp', 'passkey'),
  name: z.string(),
  createdAt: Timestamp,
  lastUsedAt: Timestamp.nullable(),
})

export const RecoveryCodes = z
  .array(z.string())
  .meta({ description: 'Ten recovery codes, each for one use. They are shown once.' })

export const PendingFactor = z.object({
  id: z.string(),
  kind: openEnum('totp', 'passkey'),
  name: z.string(),
  expiresAt: Timestamp.meta({ description: 'The factor can be confirmed until then.' }),
  totp: z
    .object({
      secret: z.string().meta({ description: 'Base 32, for typing.' }),
      uri: z.string().meta({ description: 'otpauth address, for a QR code.' }),
    })
    .nullable(),
  passkey: z
    .looseObject({})
    .nullable()
    .meta({ description: 'PublicKeyCredentialCreationOptionsJSON (WebAuthn, section 5.1.9).' }),
})

export const SecurityEvent = z.object({
  id: z.string(),
  userId: z.string(),
  email: z.string(),
  actor: openEnum('user', 'system'),
  action: z.string().meta({ description: 'For example second_factor.added. New actions may be added.' }),
  kind: openEnum('totp', 'passkey', 'recovery_code').nullable(),
  name: z.string().nullable(),
  createdAt: Timestamp,
})
