// Generated from docs/openapi.json by `npm run openapi`. Changes here are lost.

/** A value of an open set: the known ones, and any the service adds later. */
export type Open<Known extends string> = Known | (string & Record<never, never>)

export type ErrorCode = Open<"bad_request" | "validation_error" | "method_not_allowed" | "not_acceptable" | "request_timeout" | "precondition_failed" | "range_not_satisfiable" | "headers_too_large" | "unprocessable_entity" | "not_found" | "conflict" | "idempotency_key_in_use" | "idempotency_key_reused_with_different_params" | "environment_mismatch" | "missing_variables" | "unauthenticated" | "invalid_credentials" | "forbidden" | "insufficient_scope" | "invalid_signature" | "email_not_verified" | "email_exists" | "invalid_token" | "token_expired" | "mfa_required" | "blocked_dnd" | "blocked_opt_out" | "blocked_dlt_invalid" | "insufficient_funds" | "rate_limited" | "concurrent_call_limit_reached" | "number_unavailable" | "provider_unavailable" | "provider_quota_exhausted" | "provider_rejected" | "call_not_live" | "sip_trunking_request_pending" | "sip_trunking_already_enabled" | "sip_trunking_not_enabled" | "billing_details_required" | "price_changed" | "compliance_incomplete" | "knowledge_base_not_ready" | "document_too_large" | "sip_trunk_not_active" | "sip_trunk_has_numbers" | "internal_error">
export type ErrorType = Open<"invalid_request" | "not_found" | "conflict" | "authentication" | "authorization" | "compliance" | "payment_required" | "rate_limit" | "server_error">

export type Pagination = {
  /** Send it with the same filters to get the next page. Null on the last page. */
  readonly cursor: string | null
  readonly hasMore: boolean
  /** Number of matching items. Only on the first page of some lists. */
  readonly total?: number | undefined
  /** True if more than 10,000 items match. */
  readonly totalCapped?: boolean | undefined
}

export type ApiKey = {
  readonly id: string
  readonly name: string
  readonly environment: Open<"test" | "live">
  readonly scopes: readonly (Open<"read" | "write" | "admin">)[]
  readonly start: string
  readonly enabled: boolean
  readonly lastUsedAt: string | null
  readonly expiresAt: string | null
  readonly createdAt: string
  readonly key: string
}

export type ReadApiKeyResult = {
  readonly id: string
  readonly name: string
  readonly environment: Open<"test" | "live">
  readonly scopes: readonly (Open<"read" | "write" | "admin">)[]
  readonly start: string
  readonly enabled: boolean
  readonly lastUsedAt: string | null
  readonly expiresAt: string | null
  readonly createdAt: string
}

export type RollApiKeyResult = {
  readonly id: string
  readonly name: string
  readonly environment: Open<"test" | "live">
  readonly scopes: readonly (Open<"read" | "write" | "admin">)[]
  readonly start: string
  readonly enabled: boolean
  readonly lastUsedAt: string | null
  readonly expiresAt: string | null
  readonly createdAt: string
  readonly key: string
  readonly oldExpiresAt: string
}

export type Whoami = {
  readonly keyId: string | null
  readonly organizationId: string
  readonly environment: Open<"test" | "live">
  readonly scopes: readonly (Open<"read" | "write" | "admin">)[]
}

export type EmailAvailable = {
  readonly available: boolean
}

export type Up = {
  readonly userId: string
  readonly organizationId: string
  readonly email: string
}

export type Email = {
  readonly email: string
}

export type Verification = {
  readonly accepted: boolean
}

export type In = {
  readonly user: {
    readonly id: string
    readonly email: string
    readonly name: string
    readonly staff: boolean
  }
  readonly organizations: readonly ({
    readonly id: string
    readonly name: string
    readonly role: Open<"owner" | "admin" | "developer" | "viewer" | "billing">
    /** True if only a session with a proven second factor may act for the organization. */
    readonly requireSecondFactor: boolean
  })[]
  readonly secondFactor: {
    /** True if the account has a second factor. */
    readonly enrolled: boolean
    /** True if a second factor was proven in this session. Staff may do nothing else before. */
    readonly proven: boolean
  }
  readonly csrfToken: string
  readonly expiresAt: string
}

export type Factors = {
  readonly factors: readonly ({
    readonly id: string
    readonly kind: Open<"totp" | "passkey">
    readonly name: string
    readonly createdAt: string
    readonly lastUsedAt: string | null
  })[]
  readonly recoveryCodesLeft: number
  /** Origin at which passkeys can be added and used. Null if there is none. */
  readonly passkeyOrigin: string | null
}

export type Factor = {
  readonly id: string
  readonly kind: Open<"totp" | "passkey">
  readonly name: string
  /** The factor can be confirmed until then. */
  readonly expiresAt: string
  readonly totp: {
    /** Base 32, for typing. */
    readonly secret: string
    /** otpauth address, for a QR code. */
    readonly uri: string
  } | null
  /** PublicKeyCredentialCreationOptionsJSON (WebAuthn, section 5.1.9). */
  readonly passkey: Readonly<Record<string, never>> | null
}

export type ConfirmFactorResult = {
  readonly factor: {
    readonly id: string
    readonly kind: Open<"totp" | "passkey">
    readonly name: string
    readonly createdAt: string
    readonly lastUsedAt: string | null
  }
  readonly recoveryCodes: readonly (string)[] | null
}

export type RecoveryCodes = {
  /** Ten recovery codes, each for one use. They are shown once. */
  readonly recoveryCodes: readonly (string)[]
}

export type MemberRole = {
  readonly userId: string
  readonly email: string
  readonly name: string
  readonly role: Open<"owner" | "admin" | "developer" | "viewer" | "billing">
  /** Whether the member signs in with a second factor. Null if your role does not manage members. */
  readonly hasSecondFactor: boolean | null
  readonly createdAt: string
}

export type Member = {
  readonly id: string
  readonly email: string
  readonly role: Open<"owner" | "admin" | "developer" | "viewer" | "billing">
  /** Id of the user who made the invitation. */
  readonly invitedBy: string
  readonly createdAt: string
  readonly expiresAt: string
}

export type Invitation = {
  readonly userId: string
  readonly organizationId: string
  readonly email: string
  readonly role: Open<"owner" | "admin" | "developer" | "viewer" | "billing">
}

export type LeakedKeys = {
  readonly results: readonly ({
    readonly index: number
    readonly outcome: Open<"revoked" | "already_revoked" | "unknown">
  })[]
}

export type Agent = {
  readonly id: string
  readonly name: string
  readonly description: string | null
  readonly purpose: Open<"promotional" | "service" | "transactional" | "collections">
  readonly publishedVersion: number | null
  readonly latestVersion: number | null
  readonly hasUnpublishedChanges: boolean
  readonly numberIds: readonly (string)[]
  readonly systemPrompt: string
  readonly llmModel: string
  readonly knowledgeBaseIds: readonly (string)[]
  readonly inputVariables: readonly ({
    readonly name: string
    readonly description: string
    readonly required: boolean
    readonly default: string | null
  })[]
  readonly outputVariables: readonly ({
    readonly name: string
    readonly description: string
    readonly type: Open<"string" | "number" | "boolean" | "enum" | "date">
    readonly enumValues: readonly (string)[]
  })[]
  readonly evaluationCriteria: readonly ({
    readonly id: string
    readonly name: string
    readonly prompt: string
  })[]
  readonly ttsOptions: {
    readonly pace: number
  }
  readonly voice: {
    readonly languages: readonly (Open<"en-IN" | "hi-IN" | "bn-IN" | "ta-IN" | "te-IN" | "kn-IN" | "ml-IN" | "mr-IN" | "gu-IN" | "pa-IN" | "od-IN" | "or-IN">)[]
    readonly sttLanguage: Open<"en-IN" | "hi-IN" | "bn-IN" | "ta-IN" | "te-IN" | "kn-IN" | "ml-IN" | "mr-IN" | "gu-IN" | "pa-IN" | "od-IN" | "or-IN">
    readonly sttMode: Open<"transcribe" | "translate" | "codemix">
    readonly sttModel: string
    readonly ttsModel: string
    readonly ttsVoice: string
  }
  readonly tools: readonly ({
    readonly name: string
    readonly description: string
    readonly parameters: readonly ({
      readonly name: string
      readonly description: string
      readonly required: boolean
      readonly type: Open<"string" | "number" | "integer" | "boolean">
    })[]
    readonly connectionId: string | null
    readonly preset: Open<"end_call" | "transfer_call" | "send_dtmf" | "opt_out" | "schedule_callback"> | null
    readonly speech: Readonly<Record<string, string>>
    readonly mock: {
      readonly enabled: boolean
      readonly response: string
    } | null
    readonly http: {
      readonly method: Open<"GET" | "POST" | "PUT" | "PATCH" | "DELETE">
      readonly url: string
      readonly timeoutMs: number
      readonly headers: Readonly<Record<string, string>>
      readonly bodyFormat: Open<"json" | "form">
      readonly bodyRoot: string | null
      readonly auth: {
        readonly type: Open<"none" | "bearer" | "basic" | "api_key">
        readonly in: Open<"header" | "query"> | null
        readonly name: string | null
        readonly header: string | null
        readonly secretId: string | null
        readonly secondary: {
          readonly in: Open<"header" | "query">
          readonly name: string
          readonly secretId: string
        } | null
      } | null
    } | null
  })[]
  readonly callSettings: {
    readonly businessName: string
    /** Said before the opening line of a call that is recorded or may be monitored. */
    readonly recordingNotice: {
      readonly text: string
    } | null
    readonly openingLine: {
      readonly text: string
    } | null
    readonly inboundOpeningLine: {
      readonly text: string
    } | null
    readonly hangupLine: {
      readonly text: string
    } | null
    readonly maxCallSeconds: number
    readonly background: {
      readonly sound: Open<"none" | "office" | "cafe" | "call_center">
      readonly volume: number
    }
    readonly nudges: {
      readonly enabled: boolean
      /** Ends the call when the caller stays silent after the last step, as long as before it. */
      readonly hangupAfter: boolean
      readonly steps: readonly ({
        /** Seconds of silence until the step, added up over the steps: with 10 and 20 the second step follows 10 seconds after the first. A value not greater than the one before counts from the step before. */
        readonly afterSeconds: number
        readonly line: {
          readonly text: string
        }
      })[]
    }
    readonly voicemail: {
      readonly enabled: boolean
      readonly windowSeconds: number
      /** Left after the beep of a voicemail. Null: the call ends when a voicemail answers. */
      readonly message: {
        readonly text: string
      } | null
    }
    readonly transfer: {
      readonly handoff: Open<"cold" | "warm">
      readonly blindTransfers: boolean
      readonly defaultDestinationId: string | null
      readonly destinations: readonly ({
        readonly destinationId: string
        readonly fallbackDestinationId: string | null
        readonly when: string
      })[]
      readonly dtmfKey: string | null
      readonly preTransferLine: {
        readonly text: string
      } | null
      readonly afterMissLine: {
        readonly text: string
      } | null
      readonly recordHumanSegment: boolean
      readonly requestPhrases: boolean
      readonly ringTimeoutSeconds: number
    }
    readonly optOut: {
      readonly phrases: boolean
      readonly dtmfKey: string | null
    }
    readonly turnTaking: {
      readonly preset: Open<"fast" | "balanced" | "patient">
      /** Longest wait (ms) for more words of the caller. Null: the value of the preset. */
      readonly maxWaitMs: number | null
      readonly interruption: {
        /** Speech of this length (ms) interrupts the agent without words. Null: the value of the preset. */
        readonly minMs: number | null
        /** Fewer words than this do not interrupt the agent, unless the caller goes on speaking. */
        readonly minWords: number
      }
      /** The agent says a short "hm" or "ji" while the caller speaks for long. */
      readonly backchannels: boolean
    }
    readonly opening: {
      /** The opening line is spoken to its end. What the caller says meanwhile is answered after it. */
      readonly protected: boolean
    }
    /** Names and terms that callers use. Vendors that take hints recognise them better. */
    readonly vocabulary: readonly (string)[]
    /** Removes noise from the caller's audio before speech is detected. Recognition and recording get the audio as it came. */
    readonly noiseSuppression: boolean
  }
  readonly createdAt: string
  readonly updatedAt: string
  readonly deletedAt: string | null
}

export type PublishAgentResult = {
  readonly id: string
  readonly agentId: string
  readonly version: number
  readonly note: string | null
  readonly createdAt: string
  /** Who published the version. Null for versions of earlier releases. */
  readonly createdBy: {
    readonly type: Open<"user" | "key">
    readonly id: string
  } | null
  readonly purpose: Open<"promotional" | "service" | "transactional" | "collections">
  /** How each knowledge base was delivered when the version was published. */
  readonly knowledge: readonly ({
    readonly id: string
    readonly buildId: string | null
    readonly mode: Open<"inline" | "search"> | null
  })[]
  readonly systemPrompt: string
  readonly llmModel: string
  readonly knowledgeBaseIds: readonly (string)[]
  readonly inputVariables: readonly ({
    readonly name: string
    readonly description: string
    readonly required: boolean
    readonly default: string | null
  })[]
  readonly outputVariables: readonly ({
    readonly name: string
    readonly description: string
    readonly type: Open<"string" | "number" | "boolean" | "enum" | "date">
    readonly enumValues: readonly (string)[]
  })[]
  readonly evaluationCriteria: readonly ({
    readonly id: string
    readonly name: string
    readonly prompt: string
  })[]
  readonly ttsOptions: {
    readonly pace: number
  }
  readonly voice: {
    readonly languages: readonly (Open<"en-IN" | "hi-IN" | "bn-IN" | "ta-IN" | "te-IN" | "kn-IN" | "ml-IN" | "mr-IN" | "gu-IN" | "pa-IN" | "od-IN" | "or-IN">)[]
    readonly sttLanguage: Open<"en-IN" | "hi-IN" | "bn-IN" | "ta-IN" | "te-IN" | "kn-IN" | "ml-IN" | "mr-IN" | "gu-IN" | "pa-IN" | "od-IN" | "or-IN">
    readonly sttMode: Open<"transcribe" | "translate" | "codemix">
    readonly sttModel: string
    readonly ttsModel: string
    readonly ttsVoice: string
  }
  readonly tools: readonly ({
    readonly name: string
    readonly description: string
    readonly parameters: readonly ({
      readonly name: string
      readonly description: string
      readonly required: boolean
      readonly type: Open<"string" | "number" | "integer" | "boolean">
    })[]
    readonly connectionId: string | null
    readonly preset: Open<"end_call" | "transfer_call" | "send_dtmf" | "opt_out" | "schedule_callback"> | null
    readonly speech: Readonly<Record<string, string>>
    readonly mock: {
      readonly enabled: boolean
      readonly response: string
    } | null
    readonly http: {
      readonly method: Open<"GET" | "POST" | "PUT" | "PATCH" | "DELETE">
      readonly url: string
      readonly timeoutMs: number
      readonly headers: Readonly<Record<string, string>>
      readonly bodyFormat: Open<"json" | "form">
      readonly bodyRoot: string | null
      readonly auth: {
        readonly type: Open<"none" | "bearer" | "basic" | "api_key">
        readonly in: Open<"header" | "query"> | null
        readonly name: string | null
        readonly header: string | null
        readonly secretId: string | null
        readonly secondary: {
          readonly in: Open<"header" | "query">
          readonly name: string
          readonly secretId: string
        } | null
      } | null
    } | null
  })[]
  readonly callSettings: {
    readonly businessName: string
    /** Said before the opening line of a call that is recorded or may be monitored. */
    readonly recordingNotice: {
      readonly text: string
    } | null
    readonly openingLine: {
      readonly text: string
    } | null
    readonly inboundOpeningLine: {
      readonly text: string
    } | null
    readonly hangupLine: {
      readonly text: string
    } | null
    readonly maxCallSeconds: number
    readonly background: {
      readonly sound: Open<"none" | "office" | "cafe" | "call_center">
      readonly volume: number
    }
    readonly nudges: {
      readonly enabled: boolean
      /** Ends the call when the caller stays silent after the last step, as long as before it. */
      readonly hangupAfter: boolean
      readonly steps: readonly ({
        /** Seconds of silence until the step, added up over the steps: with 10 and 20 the second step follows 10 seconds after the first. A value not greater than the one before counts from the step before. */
        readonly afterSeconds: number
        readonly line: {
          readonly text: string
        }
      })[]
    }
    readonly voicemail: {
      readonly enabled: boolean
      readonly windowSeconds: number
      /** Left after the beep of a voicemail. Null: the call ends when a voicemail answers. */
      readonly message: {
        readonly text: string
      } | null
    }
    readonly transfer: {
      readonly handoff: Open<"cold" | "warm">
      readonly blindTransfers: boolean
      readonly defaultDestinationId: string | null
      readonly destinations: readonly ({
        readonly destinationId: string
        readonly fallbackDestinationId: string | null
        readonly when: string
      })[]
      readonly dtmfKey: string | null
      readonly preTransferLine: {
        readonly text: string
      } | null
      readonly afterMissLine: {
        readonly text: string
      } | null
      readonly recordHumanSegment: boolean
      readonly requestPhrases: boolean
      readonly ringTimeoutSeconds: number
    }
    readonly optOut: {
      readonly phrases: boolean
      readonly dtmfKey: string | null
    }
    readonly turnTaking: {
      readonly preset: Open<"fast" | "balanced" | "patient">
      /** Longest wait (ms) for more words of the caller. Null: the value of the preset. */
      readonly maxWaitMs: number | null
      readonly interruption: {
        /** Speech of this length (ms) interrupts the agent without words. Null: the value of the preset. */
        readonly minMs: number | null
        /** Fewer words than this do not interrupt the agent, unless the caller goes on speaking. */
        readonly minWords: number
      }
      /** The agent says a short "hm" or "ji" while the caller speaks for long. */
      readonly backchannels: boolean
    }
    readonly opening: {
      /** The opening line is spoken to its end. What the caller says meanwhile is answered after it. */
      readonly protected: boolean
    }
    /** Names and terms that callers use. Vendors that take hints recognise them better. */
    readonly vocabulary: readonly (string)[]
    /** Removes noise from the caller's audio before speech is detected. Recognition and recording get the audio as it came. */
    readonly noiseSuppression: boolean
  }
  /** In the answer to a publication only. */
  readonly warnings?: readonly ({
    readonly code: Open<"recording_notice_missing">
    readonly path: string
    readonly message: string
  })[] | undefined
}

export type Number = {
  readonly id: string
  readonly e164: string
  readonly label: string
  readonly environment: Open<"test" | "live">
  readonly provider: string
  readonly region: string
  readonly numberType: Open<"landline" | "mobile" | "tollfree">
  readonly series: Open<"regular" | "promotional_140" | "service_160">
  readonly capabilities: {
    readonly sms: boolean
    readonly voice: boolean
  }
  readonly currency: "INR"
  readonly rentalPaise: number
  readonly setupPaise: number
  readonly renewalCycle: Open<"anniversary" | "calendar_month">
  readonly nextRentalAt: string | null
  readonly purchasedAt: string | null
  readonly releaseAt: string | null
  readonly releasedAt: string | null
  readonly status: Open<"pending" | "active" | "failed" | "suspended" | "released">
  readonly inbound: Open<"pending" | "ready" | "disabled" | "error">
  /** Why `inbound` is `error`. */
  readonly inboundReason: string | null
  readonly routed: boolean
  readonly routingMode: Open<"svc_agent" | "byo_ws" | "byo_sip">
  readonly agentId: string | null
  readonly recordCalls: boolean
  readonly mediaEndpoint: {
    readonly type: Open<"static" | "twilio" | "plivo" | "vobiz" | "exotel" | "telnyx" | "vonage" | "jambonz" | "audiosocket" | "chan_websocket" | "chan_websocket_json">
    readonly url: string
    readonly format: Open<"linear16" | "mulaw" | "alaw" | "g722" | "opus">
    readonly sampleRate: number
    readonly authSecretId: string | null
    readonly customParameters: Readonly<Record<string, string>>
  } | null
  /** What happens to a call whose bot cannot be reached or is lost. `agent`: `agentId` takes it over. */
  readonly byoFallback: Open<"hangup" | "agent">
  readonly sipTrunk: {
    /** `parley`: the service itself holds the trunk. */
    readonly provider: string
    readonly credentialId: string
    readonly inboundTrunkId: string
    readonly outboundTrunkId: string
    /** Your telephone system, which takes the calls. One that registers has the user name at `terminationDomain` as its address. */
    readonly originationSipUri: string
    readonly originationUriId: string
    /** Where your telephone system places calls. */
    readonly terminationDomain: string
    readonly terminationRealm: string
    readonly terminationUsername: string
    readonly transport: Open<"udp" | "tcp" | "tls">
  } | null
  readonly sipTrunkId: string | null
  readonly createdAt: string
}

export type NumberSip = {
  readonly number: {
    readonly id: string
    readonly e164: string
    readonly label: string
    readonly environment: Open<"test" | "live">
    readonly provider: string
    readonly region: string
    readonly numberType: Open<"landline" | "mobile" | "tollfree">
    readonly series: Open<"regular" | "promotional_140" | "service_160">
    readonly capabilities: {
      readonly sms: boolean
      readonly voice: boolean
    }
    readonly currency: "INR"
    readonly rentalPaise: number
    readonly setupPaise: number
    readonly renewalCycle: Open<"anniversary" | "calendar_month">
    readonly nextRentalAt: string | null
    readonly purchasedAt: string | null
    readonly releaseAt: string | null
    readonly releasedAt: string | null
    readonly status: Open<"pending" | "active" | "failed" | "suspended" | "released">
    readonly inbound: Open<"pending" | "ready" | "disabled" | "error">
    /** Why `inbound` is `error`. */
    readonly inboundReason: string | null
    readonly routed: boolean
    readonly routingMode: Open<"svc_agent" | "byo_ws" | "byo_sip">
    readonly agentId: string | null
    readonly recordCalls: boolean
    readonly mediaEndpoint: {
      readonly type: Open<"static" | "twilio" | "plivo" | "vobiz" | "exotel" | "telnyx" | "vonage" | "jambonz" | "audiosocket" | "chan_websocket" | "chan_websocket_json">
      readonly url: string
      readonly format: Open<"linear16" | "mulaw" | "alaw" | "g722" | "opus">
      readonly sampleRate: number
      readonly authSecretId: string | null
      readonly customParameters: Readonly<Record<string, string>>
    } | null
    /** What happens to a call whose bot cannot be reached or is lost. `agent`: `agentId` takes it over. */
    readonly byoFallback: Open<"hangup" | "agent">
    readonly sipTrunk: {
      /** `parley`: the service itself holds the trunk. */
      readonly provider: string
      readonly credentialId: string
      readonly inboundTrunkId: string
      readonly outboundTrunkId: string
      /** Your telephone system, which takes the calls. One that registers has the user name at `terminationDomain` as its address. */
      readonly originationSipUri: string
      readonly originationUriId: string
      /** Where your telephone system places calls. */
      readonly terminationDomain: string
      readonly terminationRealm: string
      readonly terminationUsername: string
      readonly transport: Open<"udp" | "tcp" | "tls">
    } | null
    readonly sipTrunkId: string | null
    readonly createdAt: string
  }
  readonly connection: {
    readonly host: string
    /** Public addresses of the service. */
    readonly ips: readonly (string)[]
    readonly port: number
    readonly transport: Open<"tls" | "tcp" | "udp">
  }
  readonly credentials: {
    readonly terminationDomain: string
    readonly realm: string
    readonly username: string
    /** Shown only here. */
    readonly password: string
  }
}

export type SipTrunkEntitlement = {
  /** Staff allowed the organization to create trunks. */
  readonly enabled: boolean
  readonly organizationVerified: boolean
  /** The latest request for access. */
  readonly request: {
    readonly id: string
    readonly status: Open<"pending" | "approved" | "rejected">
    readonly requestedAt: string
    readonly reviewedAt: string | null
    readonly rejectionReason: string | null
  } | null
}

export type SipTrunk = {
  readonly connection: {
    readonly host: string
    /** Public addresses of the service. */
    readonly ips: readonly (string)[]
    readonly port: number
    readonly transport: Open<"tls" | "tcp" | "udp">
    readonly realm: string
    readonly username: string
    /** Shown only here. */
    readonly password: string
  }
  readonly trunk: {
    readonly id: string
    readonly name: string
    readonly status: Open<"pending_verification" | "active" | "disabled">
    readonly disabledReason: string | null
    readonly approvedAt: string | null
    readonly allowOrigination: boolean
    /** What your telephone system may spend a day (IST) with each number it shows. Null is no limit. */
    readonly originationBudgetPaise: number | null
    readonly callerIdPolicy: Open<"did" | "trunk_default">
    readonly codecs: readonly (string)[]
    readonly connection: {
      readonly host: string
      /** Public addresses of the service. */
      readonly ips: readonly (string)[]
      readonly port: number
      readonly transport: Open<"tls" | "tcp" | "udp">
    }
    /** Where your telephone system is registered at `connection`, the one that is called first when `outboundHost` is null. */
    readonly contacts: readonly ({
      readonly uri: string
      readonly transport: Open<"tls" | "tcp" | "udp">
      /** Source of the REGISTER, where calls go. */
      readonly address: string
      readonly port: number
      readonly registeredAt: string
      readonly expiresAt: string
    })[]
    readonly customHeaders: Readonly<Record<string, string>>
    readonly digestUsername: string | null
    readonly realm: string
    readonly hasOutboundPassword: boolean
    readonly inboundAuth: Open<"ip_acl" | "digest" | "both">
    readonly ipAcl: readonly (string)[]
    /** Those of `ipAcl` that do not identify your telephone system yet. They wait for the operator; until then a call from there is asked for the user name and the password of the trunk, and its address counts from then on. */
    readonly ipAclPending: readonly (string)[]
    readonly lastInboundAt: string | null
    readonly lastOutboundAt: string | null
    readonly lastProbe: {
      readonly at: string
      readonly ok: boolean
      readonly method: Open<"options" | "register">
      /** SIP status of the answer. Null without an answer. */
      readonly sipStatus: number | null
      readonly latencyMs: number | null
      readonly error: string | null
    } | null
    readonly maxConcurrent: number
    readonly outboundAuthUsername: string | null
    readonly outboundHost: string | null
    /** 0 means that DNS determines the port. */
    readonly outboundPort: number
    readonly outboundTransport: Open<"tls" | "tcp" | "udp">
    readonly outboundNumberFormat: Open<"e164" | "national" | "national0">
    readonly register: boolean
    /** A trunk of the operator’s trunk file (file) can be read and tested here, but not changed. `number`: made by `POST /v1/numbers/{id}/sip`. */
    readonly source: Open<"api" | "file" | "number">
    readonly createdAt: string
    readonly updatedAt: string
  }
}

export type ReadSipTrunkResult = {
  readonly id: string
  readonly name: string
  readonly status: Open<"pending_verification" | "active" | "disabled">
  readonly disabledReason: string | null
  readonly approvedAt: string | null
  readonly allowOrigination: boolean
  /** What your telephone system may spend a day (IST) with each number it shows. Null is no limit. */
  readonly originationBudgetPaise: number | null
  readonly callerIdPolicy: Open<"did" | "trunk_default">
  readonly codecs: readonly (string)[]
  readonly connection: {
    readonly host: string
    /** Public addresses of the service. */
    readonly ips: readonly (string)[]
    readonly port: number
    readonly transport: Open<"tls" | "tcp" | "udp">
  }
  /** Where your telephone system is registered at `connection`, the one that is called first when `outboundHost` is null. */
  readonly contacts: readonly ({
    readonly uri: string
    readonly transport: Open<"tls" | "tcp" | "udp">
    /** Source of the REGISTER, where calls go. */
    readonly address: string
    readonly port: number
    readonly registeredAt: string
    readonly expiresAt: string
  })[]
  readonly customHeaders: Readonly<Record<string, string>>
  readonly digestUsername: string | null
  readonly realm: string
  readonly hasOutboundPassword: boolean
  readonly inboundAuth: Open<"ip_acl" | "digest" | "both">
  readonly ipAcl: readonly (string)[]
  /** Those of `ipAcl` that do not identify your telephone system yet. They wait for the operator; until then a call from there is asked for the user name and the password of the trunk, and its address counts from then on. */
  readonly ipAclPending: readonly (string)[]
  readonly lastInboundAt: string | null
  readonly lastOutboundAt: string | null
  readonly lastProbe: {
    readonly at: string
    readonly ok: boolean
    readonly method: Open<"options" | "register">
    /** SIP status of the answer. Null without an answer. */
    readonly sipStatus: number | null
    readonly latencyMs: number | null
    readonly error: string | null
  } | null
  readonly maxConcurrent: number
  readonly outboundAuthUsername: string | null
  readonly outboundHost: string | null
  /** 0 means that DNS determines the port. */
  readonly outboundPort: number
  readonly outboundTransport: Open<"tls" | "tcp" | "udp">
  readonly outboundNumberFormat: Open<"e164" | "national" | "national0">
  readonly register: boolean
  /** A trunk of the operator’s trunk file (file) can be read and tested here, but not changed. `number`: made by `POST /v1/numbers/{id}/sip`. */
  readonly source: Open<"api" | "file" | "number">
  readonly createdAt: string
  readonly updatedAt: string
}

export type SipTrunkNumbers = {
  readonly imported: readonly ({
    readonly id: string
    readonly e164: string
    readonly label: string
    readonly environment: Open<"test" | "live">
    readonly provider: string
    readonly region: string
    readonly numberType: Open<"landline" | "mobile" | "tollfree">
    readonly series: Open<"regular" | "promotional_140" | "service_160">
    readonly capabilities: {
      readonly sms: boolean
      readonly voice: boolean
    }
    readonly currency: "INR"
    readonly rentalPaise: number
    readonly setupPaise: number
    readonly renewalCycle: Open<"anniversary" | "calendar_month">
    readonly nextRentalAt: string | null
    readonly purchasedAt: string | null
    readonly releaseAt: string | null
    readonly releasedAt: string | null
    readonly status: Open<"pending" | "active" | "failed" | "suspended" | "released">
    readonly inbound: Open<"pending" | "ready" | "disabled" | "error">
    /** Why `inbound` is `error`. */
    readonly inboundReason: string | null
    readonly routed: boolean
    readonly routingMode: Open<"svc_agent" | "byo_ws" | "byo_sip">
    readonly agentId: string | null
    readonly recordCalls: boolean
    readonly mediaEndpoint: {
      readonly type: Open<"static" | "twilio" | "plivo" | "vobiz" | "exotel" | "telnyx" | "vonage" | "jambonz" | "audiosocket" | "chan_websocket" | "chan_websocket_json">
      readonly url: string
      readonly format: Open<"linear16" | "mulaw" | "alaw" | "g722" | "opus">
      readonly sampleRate: number
      readonly authSecretId: string | null
      readonly customParameters: Readonly<Record<string, string>>
    } | null
    /** What happens to a call whose bot cannot be reached or is lost. `agent`: `agentId` takes it over. */
    readonly byoFallback: Open<"hangup" | "agent">
    readonly sipTrunk: {
      /** `parley`: the service itself holds the trunk. */
      readonly provider: string
      readonly credentialId: string
      readonly inboundTrunkId: string
      readonly outboundTrunkId: string
      /** Your telephone system, which takes the calls. One that registers has the user name at `terminationDomain` as its address. */
      readonly originationSipUri: string
      readonly originationUriId: string
      /** Where your telephone system places calls. */
      readonly terminationDomain: string
      readonly terminationRealm: string
      readonly terminationUsername: string
      readonly transport: Open<"udp" | "tcp" | "tls">
    } | null
    readonly sipTrunkId: string | null
    readonly createdAt: string
  })[]
  readonly rejected: readonly ({
    readonly index: number
    readonly e164: string
    readonly code: string
    readonly message: string
  })[]
}

export type Call = {
  readonly id: string
  readonly environment: Open<"test" | "live">
  readonly direction: Open<"outbound" | "inbound">
  readonly status: Open<"queued" | "initiated" | "ringing" | "in_progress" | "ended">
  readonly disposition: Open<"answered" | "failed" | "no_answer" | "busy" | "voicemail" | "unknown"> | null
  readonly endedReason: string | null
  readonly from: string
  readonly to: string
  readonly numberId: string
  readonly agentId: string | null
  readonly agentVersion: number | null
  readonly agentVersionId: string | null
  readonly routingMode: Open<"svc_agent" | "byo_ws" | "byo_sip">
  readonly purpose: string
  readonly campaignId: string | null
  readonly recipientId: string | null
  readonly startedAt: string | null
  readonly ringingAt: string | null
  readonly answeredAt: string | null
  readonly endedAt: string | null
  readonly answeredBy: Open<"human" | "voicemail" | "screening" | "unknown"> | null
  readonly durationSeconds: number | null
  readonly agentSeconds: number
  readonly humanSeconds: number
  readonly ratePaisePerMinute: number
  readonly charges: readonly ({
    /** `fallback`: the agent that took over from a lost bot. */
    readonly kind: Open<"agent" | "fallback" | "human">
    readonly seconds: number
    readonly ratePaisePerMinute: number
    readonly amountPaise: number
  })[]
  readonly billedPaise: number
  readonly variables: Readonly<Record<string, string>>
  readonly metadata: Readonly<Record<string, string>>
  readonly summary: string | null
  readonly outputs: Readonly<Record<string, unknown>>
  readonly evaluation: readonly ({
    readonly id: string
    readonly name: string
    readonly passed: boolean
    readonly reason: string
  })[]
  /** Why outputs are null or criteria are missing: the result is pending, the model of the agent cannot read transcripts (the sandbox model), or it failed. Null when the model has answered or nothing was asked. */
  readonly resultGap: Open<"pending" | "model_cannot_answer" | "model_failed"> | null
  /** Latest transfer attempt. Null if none was made. */
  readonly transfer: {
    readonly id: string
    /** 1 or 2. */
    readonly attempt: number
    readonly status: Open<"accepted" | "ringing" | "answered" | "bridged" | "completed" | "missed" | "declined" | "failed" | "canceled">
    readonly mode: Open<"blind" | "screened" | "consult">
    readonly trigger: Open<"model" | "api" | "byo" | "dtmf">
    readonly reason: string | null
    readonly outcome: Open<"connected" | "no_answer" | "busy" | "declined" | "caller_hung_up" | "caller_returned" | "call_ended" | "carrier_error" | "destination_unavailable"> | null
    /** What the person heard before the caller. */
    readonly brief: string | null
    readonly destination: {
      readonly label: string
    }
    readonly requestedAt: string
    /** When the person took the call, on attempts with a briefing. */
    readonly acceptedAt: string | null
    readonly answeredAt: string | null
    readonly bridgedAt: string | null
    readonly endedAt: string | null
    readonly humanSeconds: number
    readonly hasRecording: boolean
    readonly hasReturnRecording: boolean
  } | null
  readonly hasRecording: boolean
  readonly hasTranscript: boolean
  readonly complianceRunId: string | null
  readonly evidenceId: string | null
  readonly latency: {
    readonly firstAudioMs: number | null
    readonly turnP50Ms: number | null
    readonly turnP95Ms: number | null
  } | null
  /** Statistics of the customer’s own bot. Null for other calls and until the call has ended. */
  readonly bot: {
    /** Number of playout gaps because audio of the bot arrived too late. */
    readonly underruns: number
    /** Audio of the caller (ms) that was dropped because the bot did not read it in time. */
    readonly droppedInMs: number
    /** Audio of the bot (ms) that was dropped because more than 300 s was queued. */
    readonly droppedOutMs: number
    /** Late audio of the bot (ms) that was skipped to catch up. */
    readonly trimmedMs: number
    readonly marks: number
    /** Number of invalid messages from the bot. */
    readonly errors: number
    /** WebSocket close code of the bot. Null if the bot did not close the connection. */
    readonly closeCode: number | null
  } | null
  readonly error: string | null
  readonly createdAt: string
}

export type Recording = {
  readonly url: string
  readonly expiresAt: string
  readonly contentType: "audio/wav"
  readonly bytes: number
  readonly durationSeconds: number
  readonly channels: 2
  readonly sha256: string
}

export type Transcript = {
  readonly callId: string
  readonly languages: readonly (string)[]
  readonly segments: readonly ({
    readonly index: number
    readonly role: Open<"agent" | "caller" | "human_agent" | "tool" | "system">
    readonly text: string
    readonly startMs: number
    readonly endMs: number
    readonly language: string | null
    readonly interrupted: boolean
    readonly words: readonly ({
      readonly w: string
      readonly s: number
      readonly e: number
    })[] | null
  })[]
}

export type CallTimeline = {
  readonly callId: string
  /** Time 0: the answer, or the start of a call that was not answered. */
  readonly zeroAt: string
  readonly durationMs: number
  /** Null without a recording. */
  readonly waveform: {
    readonly pixelsPerSecond: number
    /** Highest level of each pixel, 0 to 128. */
    readonly caller: readonly (number)[]
    readonly agent: readonly (number)[]
  } | null
  readonly turns: readonly ({
    readonly speaker: Open<"caller" | "agent" | "human">
    readonly text: string
    /** ms after `zeroAt`; negative before it. */
    readonly startMs: number
    /** ms after `zeroAt`; negative before it. */
    readonly endMs: number
    /** When the agent was stopped before its end. */
    readonly interruptedAtMs: number | null
  })[]
  /** From the end of the caller’s speech to the first packet of the reply. */
  readonly replies: readonly ({
    /** ms after `zeroAt`; negative before it. */
    readonly speechEndMs: number
    /** ms after `zeroAt`; negative before it. */
    readonly firstPacketMs: number
    readonly latencyMs: number
    readonly stages: {
      readonly vadStopMs: number | null
      readonly sttFinalMs: number | null
      /** ms after `zeroAt`; negative before it. */
      readonly decidedMs: number
      readonly modelFirstTokenMs: number | null
      readonly firstSentenceMs: number | null
      readonly ttsFirstAudioMs: number | null
    }
  })[]
  readonly marks: readonly ({
    readonly kind: Open<"key" | "tool" | "failure" | "resumed" | "answered_by" | "note" | "monitor" | "agent_took_over">
    /** ms after `zeroAt`; negative before it. */
    readonly atMs: number
    readonly text: string
  })[]
  readonly legs: readonly ({
    readonly party: Open<"caller" | "person">
    readonly label: string
    /** ms after `zeroAt`; negative before it. */
    readonly startMs: number
    readonly answeredMs: number | null
    readonly endMs: number | null
  })[]
  readonly sip: readonly ({
    /** ms after `zeroAt`; negative before it. */
    readonly atMs: number
    readonly party: Open<"caller" | "person">
    readonly step: Open<"invite" | "ringing" | "answered" | "hold" | "resume" | "ended">
    /** SIP status, where it is known. */
    readonly status: number | null
  })[]
}

export type OnCall = {
  readonly outcome: Open<"said" | "cut" | "failed" | "in_progress">
}

export type NoteOnCallResult = {
  readonly noted: true
}

export type BrowserCall = {
  readonly callId: string
  /** Null to talk. */
  readonly monitorId: string | null
  readonly ticket: string
  readonly webSocketUrl: string
  readonly from: string
  readonly to: string
  /** Relays for networks that block UDP. Empty if none is configured. */
  readonly iceServers: readonly ({
    readonly urls: readonly (string)[]
    readonly username: string
    readonly credential: string
  })[]
  readonly expiresAt: string
}

export type ListenTicket = {
  readonly id: string
  readonly url: string
  readonly ticket: string
  readonly expiresAt: string
}

export type CarrierCallback = {
  readonly received: boolean
}

export type Campaign = {
  readonly id: string
  readonly name: string
  readonly environment: Open<"test" | "live">
  readonly status: Open<"draft" | "scheduled" | "running" | "paused" | "completed" | "stopped" | "failed">
  readonly pausedReason: Open<"operator" | "low_balance" | "target_unavailable" | "carrier_errors" | "service_errors"> | null
  /** When a campaign that was paused for `carrier_errors` or `service_errors` tries one call. Null otherwise. */
  readonly resumesAt: string | null
  readonly failureReason: string | null
  readonly agent: {
    readonly id: string | null
    readonly name: string | null
  }
  /** Version that every call uses. Null until launch. */
  readonly agentVersion: number | null
  readonly number: {
    readonly id: string | null
    readonly e164: string | null
  }
  readonly purpose: string | null
  readonly autoPauseBelowPaise: number
  readonly pacing: {
    readonly callsPerMinute: number
    readonly maxConcurrent: number
  }
  readonly retries: {
    /** Most dials per recipient. */
    readonly attempts: number
    readonly backoff: Open<"linear" | "exponential">
    readonly intervalMinutes: number
    readonly on: readonly (string)[]
  }
  readonly schedule: {
    readonly startsAt: string | null
    readonly endsAt: string | null
    /** Bit mask of 7 days. Monday is bit 0. */
    readonly weekdays: number
    /** Minutes after midnight in India. */
    readonly windowStartMinute: number
    /** Minutes after midnight in India. */
    readonly windowEndMinute: number
  }
  readonly progress: {
    readonly total: number
    /** Recipients that were dialled at least once. */
    readonly dialed: number
    readonly connected: number
    readonly excluded: number
    /** Recipients that are not dialled any more, excluded ones included. */
    readonly settled: number
    readonly spentPaise: number
    /** Answered calls on which the agent was not heard within 2 seconds. */
    readonly lateAgentSound: number
  }
  readonly preflight: {
    readonly callable: number
    readonly checks: readonly ({
      readonly type: string
      readonly outcome: Open<"pass" | "warn" | "block">
      readonly reason: string
    })[]
    readonly computedAt: string
    readonly estimatedCostPaise: {
      readonly low: number
      readonly high: number
    }
    /** When the last recipient settles if the campaign starts now or at startsAt. Null if that takes more than a year. */
    readonly estimatedFinish: {
      readonly low: string | null
      readonly likely: string | null
      readonly high: string | null
    }
    /** Number of recipients that cannot be called, by reason. */
    readonly excluded: Readonly<Record<string, number>>
    /** The first 100 numbers by reason. */
    readonly excludedE164s: Readonly<Record<string, readonly (string)[]>>
    readonly total: number
    readonly walletBalancePaise: number
  } | null
  readonly launchedAt: string | null
  readonly completedAt: string | null
  readonly archivedAt: string | null
  readonly createdAt: string
  readonly updatedAt: string
}

export type Recipients = {
  readonly imported: number
  /** Recipients that were not imported. */
  readonly rejectedCount: number
  /** The first 1,000 of them. */
  readonly rejected: readonly ({
    /** Position of the recipient in the request, from 0. */
    readonly index: number
    /** Line of the CSV body, from 1. Only for CSV. */
    readonly line?: number | undefined
    readonly e164: string
    readonly code: string
    readonly reason: Open<"number" | "external_id_length" | "external_id_control" | "variable_count" | "variable_name" | "variable_length" | "duplicate" | "recipient_limit" | "column_count">
    readonly message: string
  })[]
}

export type Recipient = {
  readonly id: string
  readonly campaignId: string
  readonly e164: string
  readonly externalId: string | null
  readonly variables: Readonly<Record<string, string>>
  readonly status: Open<"pending" | "queued" | "dialing" | "in_call" | "retry_wait" | "settled">
  /** Disposition of the last call, `excluded` or `abandoned`. */
  readonly outcome: Open<"answered" | "no_answer" | "busy" | "failed" | "voicemail" | "unknown" | "excluded" | "abandoned"> | null
  readonly excludedReason: Open<"suppressed" | "dnd_register" | "missing_consent" | "outside_window" | "frequency_cap" | "missing_variables" | "invalid_number" | "trunk_prefix" | "service_errors"> | null
  readonly attempts: number
  readonly nextAttemptAt: string | null
  readonly lastAttemptAt: string | null
  readonly lastCallId: string | null
  readonly spentPaise: number
  /** Outputs of the last call. */
  readonly outputs: Readonly<Record<string, unknown>>
  readonly createdAt: string
  readonly settledAt: string | null
}

export type CampaignOutcomes = {
  /** Settled recipients by outcome, without excluded ones. */
  readonly byDisposition: Readonly<Record<string, number>>
  readonly byExcludedReason: Readonly<Record<string, number>>
  /** Values of each output over all calls. Rare values of many are counted as `other`. */
  readonly outputs: Readonly<Record<string, Readonly<Record<string, number>>>>
  readonly evaluation: readonly ({
    readonly id: string
    readonly name: string
    readonly passed: number
    readonly failed: number
  })[]
  readonly spentPaise: number
  readonly averageDurationSeconds: number | null
  /** Recipients by number of attempts. */
  readonly attemptsHistogram: Readonly<Record<string, number>>
  /** Answered calls on which the agent was not heard within 2 seconds. */
  readonly lateAgentSound: number
}

export type Callback = {
  readonly id: string
  /** Call on which the callback was promised. */
  readonly callId: string
  readonly agentId: string
  readonly numberId: string
  readonly e164: string
  /** False if the person called in: a caller can show the number of another person. True if the call was placed to the number. */
  readonly numberProven: boolean
  /** Time of the next dial. */
  readonly at: string
  /** Time that the person was told. */
  readonly promisedAt: string
  readonly note: string
  /** `due`: the dial was moved, because the person could not be called at the time. */
  readonly status: Open<"scheduled" | "due" | "dialled" | "refused" | "canceled">
  readonly resultCallId: string | null
  /** Why the callback was moved, refused or canceled. */
  readonly reason: string | null
  readonly createdAt: string
}

export type Compliance = {
  readonly allowed: boolean
  readonly code: Open<"blocked_dnd" | "blocked_opt_out" | "blocked_dlt_invalid" | "insufficient_funds" | "validation_error"> | null
  readonly checkType: Open<"number_format" | "dnc" | "enforcement" | "verification" | "calling_window" | "dnd_register" | "consent" | "frequency_cap" | "robocall_declaration" | "sender_registration" | "wallet"> | null
  /** Checks that could not be made, because the answer of the DND register or the caller ID is missing. The call is decided on with both, and they may still refuse it. */
  readonly undecided: readonly (Open<"number_format" | "dnc" | "enforcement" | "verification" | "calling_window" | "dnd_register" | "consent" | "frequency_cap" | "robocall_declaration" | "sender_registration" | "wallet">)[]
  readonly nextAllowedAt: string | null
  readonly runId: string
  readonly checks: readonly ({
    readonly id: string
    readonly runId: string
    readonly type: Open<"number_format" | "dnc" | "enforcement" | "verification" | "calling_window" | "dnd_register" | "consent" | "frequency_cap" | "robocall_declaration" | "sender_registration" | "wallet">
    readonly outcome: Open<"pass" | "warn" | "block" | "skipped">
    readonly code: string | null
    readonly reason: string
    readonly message: string
    readonly e164: string
    readonly purpose: string
    readonly environment: Open<"test" | "live">
    readonly trigger: Open<"call" | "campaign" | "preflight" | "manual" | "origination" | "byo" | "transfer" | "forward" | "verification" | "callback">
    readonly callId: string | null
    readonly campaignId: string | null
    readonly recipientId: string | null
    readonly source: string | null
    readonly details: Readonly<Record<string, unknown>>
    readonly nextAllowedAt: string | null
    readonly checkedAt: string
  })[]
}

export type ComplianceCheck = {
  readonly id: string
  readonly runId: string
  readonly type: Open<"number_format" | "dnc" | "enforcement" | "verification" | "calling_window" | "dnd_register" | "consent" | "frequency_cap" | "robocall_declaration" | "sender_registration" | "wallet">
  readonly outcome: Open<"pass" | "warn" | "block" | "skipped">
  readonly code: string | null
  readonly reason: string
  readonly message: string
  readonly e164: string
  readonly purpose: string
  readonly environment: Open<"test" | "live">
  readonly trigger: Open<"call" | "campaign" | "preflight" | "manual" | "origination" | "byo" | "transfer" | "forward" | "verification" | "callback">
  readonly callId: string | null
  readonly campaignId: string | null
  readonly recipientId: string | null
  readonly source: string | null
  readonly details: Readonly<Record<string, unknown>>
  readonly nextAllowedAt: string | null
  readonly checkedAt: string
}

export type CallEvidence = {
  readonly gate: {
    readonly id: string
    readonly seq: number
    readonly environment: Open<"test" | "live">
    readonly kind: Open<"gate" | "outcome">
    readonly callId: string | null
    readonly gateRunId: string | null
    /** SHA-256 over the salt and the number. */
    readonly subject?: string | null | undefined
    /** SHA-256 over the salt and `personal`. */
    readonly personalSha256?: string | null | undefined
    readonly checks?: readonly ({
      readonly id: string
      readonly type: string
      readonly outcome: Open<"pass" | "warn" | "block" | "skipped">
      readonly code: string | null
      readonly reason: string
      readonly message: string
      readonly source: string | null
      readonly nextAllowedAt: string | null
      readonly checkedAt: string
    })[] | undefined
    readonly suppressionMatched?: boolean | undefined
    readonly sender?: {
      readonly purpose: string
      readonly peId: string | null
      readonly header: string | null
      readonly declarationRef: string | null
    } | undefined
    readonly number: string
    readonly agentId: string | null
    readonly agentVersionId: string | null
    readonly campaignId: string | null
    readonly policyVersion?: string | undefined
    readonly decidedAt?: string | undefined
    readonly outcome: {
      readonly disposition: string | null
      readonly startedAt: string | null
      readonly answeredAt: string | null
      readonly endedAt: string | null
      readonly durationSeconds: number
      readonly recordingSha256: string | null
      /** The recordings of transfers. Absent without any. */
      readonly parts?: readonly ({
        readonly transferId: string
        readonly part: Open<"human" | "return">
        readonly sha256: string
      })[] | undefined
      readonly transcriptSha256: string | null
      /** Who listened to the call or took it over. Absent if nobody did. */
      readonly monitors?: readonly ({
        readonly mode: Open<"listen" | "takeover">
        readonly userId: string
        readonly startedAt: string | null
        readonly endedAt: string | null
      })[] | undefined
    } | null
    readonly sealedAt: string
    readonly prevHash: string
    readonly alg: string
    readonly keyId: string
    /** Null after the erasure of the person. */
    readonly e164: string | null
    readonly salt: string | null
    readonly personal: Readonly<Record<string, unknown>> | null
    /** The sealed text: canonical JSON (RFC 8785). */
    readonly record: string
    readonly hash: string
    readonly signature: string
  } | null
  readonly outcome: {
    readonly id: string
    readonly seq: number
    readonly environment: Open<"test" | "live">
    readonly kind: Open<"gate" | "outcome">
    readonly callId: string | null
    readonly gateRunId: string | null
    /** SHA-256 over the salt and the number. */
    readonly subject?: string | null | undefined
    /** SHA-256 over the salt and `personal`. */
    readonly personalSha256?: string | null | undefined
    readonly checks?: readonly ({
      readonly id: string
      readonly type: string
      readonly outcome: Open<"pass" | "warn" | "block" | "skipped">
      readonly code: string | null
      readonly reason: string
      readonly message: string
      readonly source: string | null
      readonly nextAllowedAt: string | null
      readonly checkedAt: string
    })[] | undefined
    readonly suppressionMatched?: boolean | undefined
    readonly sender?: {
      readonly purpose: string
      readonly peId: string | null
      readonly header: string | null
      readonly declarationRef: string | null
    } | undefined
    readonly number: string
    readonly agentId: string | null
    readonly agentVersionId: string | null
    readonly campaignId: string | null
    readonly policyVersion?: string | undefined
    readonly decidedAt?: string | undefined
    readonly outcome: {
      readonly disposition: string | null
      readonly startedAt: string | null
      readonly answeredAt: string | null
      readonly endedAt: string | null
      readonly durationSeconds: number
      readonly recordingSha256: string | null
      /** The recordings of transfers. Absent without any. */
      readonly parts?: readonly ({
        readonly transferId: string
        readonly part: Open<"human" | "return">
        readonly sha256: string
      })[] | undefined
      readonly transcriptSha256: string | null
      /** Who listened to the call or took it over. Absent if nobody did. */
      readonly monitors?: readonly ({
        readonly mode: Open<"listen" | "takeover">
        readonly userId: string
        readonly startedAt: string | null
        readonly endedAt: string | null
      })[] | undefined
    } | null
    readonly sealedAt: string
    readonly prevHash: string
    readonly alg: string
    readonly keyId: string
    /** Null after the erasure of the person. */
    readonly e164: string | null
    readonly salt: string | null
    readonly personal: Readonly<Record<string, unknown>> | null
    /** The sealed text: canonical JSON (RFC 8785). */
    readonly record: string
    readonly hash: string
    readonly signature: string
  } | null
  readonly verification: {
    readonly valid: boolean
    readonly problem: string | null
    readonly head: {
      readonly seq: number
      readonly hash: string
      /** Null before the first record. */
      readonly sealedAt: string | null
      readonly keyId: string
      /** Raw Ed25519 public key, 64 hex digits. */
      readonly publicKey: string
    }
    /** The first time stamp that covers these records. Null if there is none yet. */
    readonly timeStamp: {
      /** The head that was time-stamped; it covers the records before it. */
      readonly seq: number
      /** Time that the authority states. */
      readonly at: string
      /** Subject of the authority's certificate. */
      readonly authority: string
    } | null
  }
}

export type PersonEvidence = {
  readonly e164: string
  readonly consents: readonly ({
    readonly id: string
    readonly e164: string
    readonly purpose: Open<"promotional" | "service" | "transactional" | "collections">
    readonly kind: Open<"explicit" | "inferred">
    readonly scope: string
    readonly source: string
    readonly evidenceRef: string | null
    readonly capturedAt: string
    readonly expiresAt: string | null
    readonly createdAt: string
    readonly revokedAt: string | null
    readonly revokedReason: string | null
    readonly active: boolean
  })[]
  readonly suppression: readonly ({
    readonly id: string
    /** After the erasure of the person a digest that begins with `erased-`. */
    readonly e164: string
    readonly source: Open<"opt_out" | "manual" | "import" | "complaint" | "regulator">
    readonly reason: string | null
    readonly environment: Open<"test" | "live">
    readonly callId: string | null
    readonly active: boolean
    readonly lockedUntil: string | null
    readonly expiresAt: string | null
    readonly createdAt: string
    readonly createdBy: {
      readonly type: Open<"user" | "key" | "call">
      readonly id: string
    }
    readonly removedAt: string | null
    readonly removedBy: {
      readonly type: Open<"user" | "key">
      readonly id: string
    } | null
  })[]
  readonly checks: readonly ({
    readonly id: string
    readonly runId: string
    readonly type: Open<"number_format" | "dnc" | "enforcement" | "verification" | "calling_window" | "dnd_register" | "consent" | "frequency_cap" | "robocall_declaration" | "sender_registration" | "wallet">
    readonly outcome: Open<"pass" | "warn" | "block" | "skipped">
    readonly code: string | null
    readonly reason: string
    readonly message: string
    readonly e164: string
    readonly purpose: string
    readonly environment: Open<"test" | "live">
    readonly trigger: Open<"call" | "campaign" | "preflight" | "manual" | "origination" | "byo" | "transfer" | "forward" | "verification" | "callback">
    readonly callId: string | null
    readonly campaignId: string | null
    readonly recipientId: string | null
    readonly source: string | null
    readonly details: Readonly<Record<string, unknown>>
    readonly nextAllowedAt: string | null
    readonly checkedAt: string
  })[]
  readonly evidence: readonly ({
    readonly id: string
    readonly seq: number
    readonly environment: Open<"test" | "live">
    readonly kind: Open<"gate" | "outcome">
    readonly callId: string | null
    readonly gateRunId: string | null
    /** SHA-256 over the salt and the number. */
    readonly subject?: string | null | undefined
    /** SHA-256 over the salt and `personal`. */
    readonly personalSha256?: string | null | undefined
    readonly checks?: readonly ({
      readonly id: string
      readonly type: string
      readonly outcome: Open<"pass" | "warn" | "block" | "skipped">
      readonly code: string | null
      readonly reason: string
      readonly message: string
      readonly source: string | null
      readonly nextAllowedAt: string | null
      readonly checkedAt: string
    })[] | undefined
    readonly suppressionMatched?: boolean | undefined
    readonly sender?: {
      readonly purpose: string
      readonly peId: string | null
      readonly header: string | null
      readonly declarationRef: string | null
    } | undefined
    readonly number: string
    readonly agentId: string | null
    readonly agentVersionId: string | null
    readonly campaignId: string | null
    readonly policyVersion?: string | undefined
    readonly decidedAt?: string | undefined
    readonly outcome: {
      readonly disposition: string | null
      readonly startedAt: string | null
      readonly answeredAt: string | null
      readonly endedAt: string | null
      readonly durationSeconds: number
      readonly recordingSha256: string | null
      /** The recordings of transfers. Absent without any. */
      readonly parts?: readonly ({
        readonly transferId: string
        readonly part: Open<"human" | "return">
        readonly sha256: string
      })[] | undefined
      readonly transcriptSha256: string | null
      /** Who listened to the call or took it over. Absent if nobody did. */
      readonly monitors?: readonly ({
        readonly mode: Open<"listen" | "takeover">
        readonly userId: string
        readonly startedAt: string | null
        readonly endedAt: string | null
      })[] | undefined
    } | null
    readonly sealedAt: string
    readonly prevHash: string
    readonly alg: string
    readonly keyId: string
    /** Null after the erasure of the person. */
    readonly e164: string | null
    readonly salt: string | null
    readonly personal: Readonly<Record<string, unknown>> | null
    /** The sealed text: canonical JSON (RFC 8785). */
    readonly record: string
    readonly hash: string
    readonly signature: string
  })[]
}

export type EvidenceHead = {
  readonly seq: number
  readonly hash: string
  /** Null before the first record. */
  readonly sealedAt: string | null
  readonly keyId: string
  /** Raw Ed25519 public key, 64 hex digits. */
  readonly publicKey: string
}

export type Consent = {
  readonly id: string
  readonly e164: string
  readonly purpose: Open<"promotional" | "service" | "transactional" | "collections">
  readonly kind: Open<"explicit" | "inferred">
  readonly scope: string
  readonly source: string
  readonly evidenceRef: string | null
  readonly capturedAt: string
  readonly expiresAt: string | null
  readonly createdAt: string
  readonly revokedAt: string | null
  readonly revokedReason: string | null
  readonly active: boolean
}

export type Consents = {
  readonly imported: number
  readonly rejected: readonly ({
    readonly index: number
    readonly e164: string
    readonly code: string
    readonly message: string
  })[]
}

export type DncEntry = {
  readonly id: string
  /** After the erasure of the person a digest that begins with `erased-`. */
  readonly e164: string
  readonly source: Open<"opt_out" | "manual" | "import" | "complaint" | "regulator">
  readonly reason: string | null
  readonly environment: Open<"test" | "live">
  readonly callId: string | null
  readonly active: boolean
  readonly lockedUntil: string | null
  readonly expiresAt: string | null
  readonly createdAt: string
  readonly createdBy: {
    readonly type: Open<"user" | "key" | "call">
    readonly id: string
  }
  readonly removedAt: string | null
  readonly removedBy: {
    readonly type: Open<"user" | "key">
    readonly id: string
  } | null
}

export type Erasure = {
  readonly id: string
  readonly environment: Open<"test" | "live">
  /** Null once the erasure is done. */
  readonly e164: string | null
  readonly state: Open<"pending" | "delayed" | "done">
  readonly delayReason: Open<"live_call" | "call_not_stored" | "payment_dispute" | "wallet_on_hold" | "legal_floor"> | null
  /** When the reason of the delay ends, if known. */
  readonly scheduledFor: string | null
  /** Calls that were made anonymous so far. */
  readonly calls: number
  /** Sealed records that were made anonymous so far. */
  readonly records: number
  readonly createdAt: string
  readonly completedAt: string | null
}

export type Event = {
  readonly id: string
  readonly type: Open<"call.initiated" | "call.answered" | "call.completed" | "call.failed" | "call.transfer_started" | "call.transferred" | "call.transfer_failed" | "campaign.completed" | "campaign.paused" | "compliance.check.blocked" | "wallet.balance.low" | "number.renewal_due" | "number.released" | "number.suspended" | "number.reactivated" | "knowledge.build.completed" | "knowledge.build.failed" | "evidence.head">
  readonly environment: Open<"test" | "live"> | null
  readonly subjectType: Open<"call" | "campaign" | "check" | "wallet" | "number" | "knowledge_base">
  readonly subjectId: string
  readonly createdAt: string
  /** Latest delivery to this endpoint. Null if no endpoint is subscribed to the event. */
  readonly delivery: {
    readonly endpointId: string
    readonly status: Open<"pending" | "delivered" | "failed">
    readonly attempts: number
    readonly lastStatus: number | null
    readonly deliveredAt: string | null
  } | null
  readonly payload: {
    readonly id: string
    readonly type: string
    readonly environment: Open<"test" | "live"> | null
    readonly created_at: string
    readonly data: {
      readonly call: {
        readonly id: string
        readonly environment: Open<"test" | "live">
        readonly direction: Open<"outbound" | "inbound">
        readonly status: Open<"queued" | "initiated" | "ringing" | "in_progress" | "ended">
        readonly disposition: Open<"answered" | "failed" | "no_answer" | "busy" | "voicemail" | "unknown"> | null
        readonly endedReason: string | null
        readonly from: string
        readonly to: string
        readonly numberId: string
        readonly agentId: string | null
        readonly agentVersion: number | null
        readonly agentVersionId: string | null
        readonly routingMode: Open<"svc_agent" | "byo_ws" | "byo_sip">
        readonly purpose: string
        readonly campaignId: string | null
        readonly recipientId: string | null
        readonly startedAt: string | null
        readonly ringingAt: string | null
        readonly answeredAt: string | null
        readonly endedAt: string | null
        readonly answeredBy: Open<"human" | "voicemail" | "screening" | "unknown"> | null
        readonly durationSeconds: number | null
        readonly agentSeconds: number
        readonly humanSeconds: number
        readonly ratePaisePerMinute: number
        readonly charges: readonly ({
          /** `fallback`: the agent that took over from a lost bot. */
          readonly kind: Open<"agent" | "fallback" | "human">
          readonly seconds: number
          readonly ratePaisePerMinute: number
          readonly amountPaise: number
        })[]
        readonly billedPaise: number
        readonly variables: Readonly<Record<string, string>>
        readonly metadata: Readonly<Record<string, string>>
        readonly summary: string | null
        readonly outputs: Readonly<Record<string, unknown>>
        readonly evaluation: readonly ({
          readonly id: string
          readonly name: string
          readonly passed: boolean
          readonly reason: string
        })[]
        /** Why outputs are null or criteria are missing: the result is pending, the model of the agent cannot read transcripts (the sandbox model), or it failed. Null when the model has answered or nothing was asked. */
        readonly resultGap: Open<"pending" | "model_cannot_answer" | "model_failed"> | null
        /** Latest transfer attempt. Null if none was made. */
        readonly transfer: {
          readonly id: string
          /** 1 or 2. */
          readonly attempt: number
          readonly status: Open<"accepted" | "ringing" | "answered" | "bridged" | "completed" | "missed" | "declined" | "failed" | "canceled">
          readonly mode: Open<"blind" | "screened" | "consult">
          readonly trigger: Open<"model" | "api" | "byo" | "dtmf">
          readonly reason: string | null
          readonly outcome: Open<"connected" | "no_answer" | "busy" | "declined" | "caller_hung_up" | "caller_returned" | "call_ended" | "carrier_error" | "destination_unavailable"> | null
          /** What the person heard before the caller. */
          readonly brief: string | null
          readonly destination: {
            readonly label: string
          }
          readonly requestedAt: string
          /** When the person took the call, on attempts with a briefing. */
          readonly acceptedAt: string | null
          readonly answeredAt: string | null
          readonly bridgedAt: string | null
          readonly endedAt: string | null
          readonly humanSeconds: number
          readonly hasRecording: boolean
          readonly hasReturnRecording: boolean
        } | null
        readonly hasRecording: boolean
        readonly hasTranscript: boolean
        readonly complianceRunId: string | null
        readonly evidenceId: string | null
        readonly latency: {
          readonly firstAudioMs: number | null
          readonly turnP50Ms: number | null
          readonly turnP95Ms: number | null
        } | null
        /** Statistics of the customer’s own bot. Null for other calls and until the call has ended. */
        readonly bot: {
          /** Number of playout gaps because audio of the bot arrived too late. */
          readonly underruns: number
          /** Audio of the caller (ms) that was dropped because the bot did not read it in time. */
          readonly droppedInMs: number
          /** Audio of the bot (ms) that was dropped because more than 300 s was queued. */
          readonly droppedOutMs: number
          /** Late audio of the bot (ms) that was skipped to catch up. */
          readonly trimmedMs: number
          readonly marks: number
          /** Number of invalid messages from the bot. */
          readonly errors: number
          /** WebSocket close code of the bot. Null if the bot did not close the connection. */
          readonly closeCode: number | null
        } | null
        readonly error: string | null
        readonly createdAt: string
      }
      /** The transfer attempt of this event, which may differ from the latest attempt of the call. */
      readonly transfer: {
        readonly id: string
        /** 1 or 2. */
        readonly attempt: number
        readonly status: Open<"accepted" | "ringing" | "answered" | "bridged" | "completed" | "missed" | "declined" | "failed" | "canceled">
        readonly mode: Open<"blind" | "screened" | "consult">
        readonly trigger: Open<"model" | "api" | "byo" | "dtmf">
        readonly reason: string | null
        readonly outcome: Open<"connected" | "no_answer" | "busy" | "declined" | "caller_hung_up" | "caller_returned" | "call_ended" | "carrier_error" | "destination_unavailable"> | null
        /** What the person heard before the caller. */
        readonly brief: string | null
        readonly destination: {
          readonly label: string
        }
        readonly requestedAt: string
        /** When the person took the call, on attempts with a briefing. */
        readonly acceptedAt: string | null
        readonly answeredAt: string | null
        readonly bridgedAt: string | null
        readonly endedAt: string | null
        readonly humanSeconds: number
        readonly hasRecording: boolean
        readonly hasReturnRecording: boolean
      }
    } | {
      readonly knowledgeBase: {
        readonly id: string
        readonly name: string
        /** For people. The agent does not read it. */
        readonly description: string | null
        readonly status: Open<"empty" | "processing" | "ready" | "error">
        readonly deliveryMode: Open<"inline" | "search" | "pending">
        readonly docCount: number
        readonly totalBytes: number
        readonly chunkCount: number | null
        readonly compiledTokens: number | null
        readonly agentCount: number
        readonly error: string | null
        readonly createdAt: string
        readonly updatedAt: string
      }
      readonly build: {
        readonly id: string
        readonly knowledgeBaseId: string
        readonly status: Open<"processing" | "completed" | "failed">
        readonly error: string | null
        readonly documents: number
        /** Documents that are read, or that cannot be read. */
        readonly documentsDone: number
        readonly chunkCount: number | null
        readonly compiledTokens: number | null
        /** Model whose vectors the search uses besides words. Null for words only. */
        readonly embeddingModel: string | null
        /** What a completed build does without, and why, as sentences for people. */
        readonly warnings: readonly (string)[]
        /** Tokens that the models of the build counted. Unchanged passages take none. */
        readonly modelTokens: {
          readonly embedding: number
          readonly prompt: number
          readonly completion: number
        }
        readonly startedAt: string
        readonly finishedAt: string | null
      }
    } | {
      readonly call: {
        readonly id: string
        readonly environment: Open<"test" | "live">
        readonly direction: Open<"outbound" | "inbound">
        readonly status: Open<"queued" | "initiated" | "ringing" | "in_progress" | "ended">
        readonly disposition: Open<"answered" | "failed" | "no_answer" | "busy" | "voicemail" | "unknown"> | null
        readonly endedReason: string | null
        readonly from: string
        readonly to: string
        readonly numberId: string
        readonly agentId: string | null
        readonly agentVersion: number | null
        readonly agentVersionId: string | null
        readonly routingMode: Open<"svc_agent" | "byo_ws" | "byo_sip">
        readonly purpose: string
        readonly campaignId: string | null
        readonly recipientId: string | null
        readonly startedAt: string | null
        readonly ringingAt: string | null
        readonly answeredAt: string | null
        readonly endedAt: string | null
        readonly answeredBy: Open<"human" | "voicemail" | "screening" | "unknown"> | null
        readonly durationSeconds: number | null
        readonly agentSeconds: number
        readonly humanSeconds: number
        readonly ratePaisePerMinute: number
        readonly charges: readonly ({
          /** `fallback`: the agent that took over from a lost bot. */
          readonly kind: Open<"agent" | "fallback" | "human">
          readonly seconds: number
          readonly ratePaisePerMinute: number
          readonly amountPaise: number
        })[]
        readonly billedPaise: number
        readonly variables: Readonly<Record<string, string>>
        readonly metadata: Readonly<Record<string, string>>
        readonly summary: string | null
        readonly outputs: Readonly<Record<string, unknown>>
        readonly evaluation: readonly ({
          readonly id: string
          readonly name: string
          readonly passed: boolean
          readonly reason: string
        })[]
        /** Why outputs are null or criteria are missing: the result is pending, the model of the agent cannot read transcripts (the sandbox model), or it failed. Null when the model has answered or nothing was asked. */
        readonly resultGap: Open<"pending" | "model_cannot_answer" | "model_failed"> | null
        /** Latest transfer attempt. Null if none was made. */
        readonly transfer: {
          readonly id: string
          /** 1 or 2. */
          readonly attempt: number
          readonly status: Open<"accepted" | "ringing" | "answered" | "bridged" | "completed" | "missed" | "declined" | "failed" | "canceled">
          readonly mode: Open<"blind" | "screened" | "consult">
          readonly trigger: Open<"model" | "api" | "byo" | "dtmf">
          readonly reason: string | null
          readonly outcome: Open<"connected" | "no_answer" | "busy" | "declined" | "caller_hung_up" | "caller_returned" | "call_ended" | "carrier_error" | "destination_unavailable"> | null
          /** What the person heard before the caller. */
          readonly brief: string | null
          readonly destination: {
            readonly label: string
          }
          readonly requestedAt: string
          /** When the person took the call, on attempts with a briefing. */
          readonly acceptedAt: string | null
          readonly answeredAt: string | null
          readonly bridgedAt: string | null
          readonly endedAt: string | null
          readonly humanSeconds: number
          readonly hasRecording: boolean
          readonly hasReturnRecording: boolean
        } | null
        readonly hasRecording: boolean
        readonly hasTranscript: boolean
        readonly complianceRunId: string | null
        readonly evidenceId: string | null
        readonly latency: {
          readonly firstAudioMs: number | null
          readonly turnP50Ms: number | null
          readonly turnP95Ms: number | null
        } | null
        /** Statistics of the customer’s own bot. Null for other calls and until the call has ended. */
        readonly bot: {
          /** Number of playout gaps because audio of the bot arrived too late. */
          readonly underruns: number
          /** Audio of the caller (ms) that was dropped because the bot did not read it in time. */
          readonly droppedInMs: number
          /** Audio of the bot (ms) that was dropped because more than 300 s was queued. */
          readonly droppedOutMs: number
          /** Late audio of the bot (ms) that was skipped to catch up. */
          readonly trimmedMs: number
          readonly marks: number
          /** Number of invalid messages from the bot. */
          readonly errors: number
          /** WebSocket close code of the bot. Null if the bot did not close the connection. */
          readonly closeCode: number | null
        } | null
        readonly error: string | null
        readonly createdAt: string
      }
    } | {
      /** The campaign as its GET operation returns it. */
      readonly campaign: {
        readonly id: string
        readonly name: string
        readonly environment: Open<"test" | "live">
        readonly status: Open<"draft" | "scheduled" | "running" | "paused" | "completed" | "stopped" | "failed">
        readonly pausedReason: Open<"operator" | "low_balance" | "target_unavailable" | "carrier_errors" | "service_errors"> | null
        /** When a campaign that was paused for `carrier_errors` or `service_errors` tries one call. Null otherwise. */
        readonly resumesAt: string | null
        readonly failureReason: string | null
        readonly agent: {
          readonly id: string | null
          readonly name: string | null
        }
        /** Version that every call uses. Null until launch. */
        readonly agentVersion: number | null
        readonly number: {
          readonly id: string | null
          readonly e164: string | null
        }
        readonly purpose: string | null
        readonly autoPauseBelowPaise: number
        readonly pacing: {
          readonly callsPerMinute: number
          readonly maxConcurrent: number
        }
        readonly retries: {
          /** Most dials per recipient. */
          readonly attempts: number
          readonly backoff: Open<"linear" | "exponential">
          readonly intervalMinutes: number
          readonly on: readonly (string)[]
        }
        readonly schedule: {
          readonly startsAt: string | null
          readonly endsAt: string | null
          /** Bit mask of 7 days. Monday is bit 0. */
          readonly weekdays: number
          /** Minutes after midnight in India. */
          readonly windowStartMinute: number
          /** Minutes after midnight in India. */
          readonly windowEndMinute: number
        }
        readonly progress: {
          readonly total: number
          /** Recipients that were dialled at least once. */
          readonly dialed: number
          readonly connected: number
          readonly excluded: number
          /** Recipients that are not dialled any more, excluded ones included. */
          readonly settled: number
          readonly spentPaise: number
          /** Answered calls on which the agent was not heard within 2 seconds. */
          readonly lateAgentSound: number
        }
        readonly preflight: {
          readonly callable: number
          readonly checks: readonly ({
            readonly type: string
            readonly outcome: Open<"pass" | "warn" | "block">
            readonly reason: string
          })[]
          readonly computedAt: string
          readonly estimatedCostPaise: {
            readonly low: number
            readonly high: number
          }
          /** When the last recipient settles if the campaign starts now or at startsAt. Null if that takes more than a year. */
          readonly estimatedFinish: {
            readonly low: string | null
            readonly likely: string | null
            readonly high: string | null
          }
          /** Number of recipients that cannot be called, by reason. */
          readonly excluded: Readonly<Record<string, number>>
          /** The first 100 numbers by reason. */
          readonly excludedE164s: Readonly<Record<string, readonly (string)[]>>
          readonly total: number
          readonly walletBalancePaise: number
        } | null
        readonly launchedAt: string | null
        readonly completedAt: string | null
        readonly archivedAt: string | null
        readonly createdAt: string
        readonly updatedAt: string
      }
    } | {
      readonly check: {
        readonly id: string
        readonly runId: string
        readonly type: Open<"number_format" | "dnc" | "enforcement" | "verification" | "calling_window" | "dnd_register" | "consent" | "frequency_cap" | "robocall_declaration" | "sender_registration" | "wallet">
        readonly outcome: Open<"pass" | "warn" | "block" | "skipped">
        readonly code: string | null
        readonly reason: string
        readonly message: string
        readonly e164: string
        readonly purpose: string
        readonly environment: Open<"test" | "live">
        readonly trigger: Open<"call" | "campaign" | "preflight" | "manual" | "origination" | "byo" | "transfer" | "forward" | "verification" | "callback">
        readonly callId: string | null
        readonly campaignId: string | null
        readonly recipientId: string | null
        readonly source: string | null
        readonly details: Readonly<Record<string, unknown>>
        readonly nextAllowedAt: string | null
        readonly checkedAt: string
      }
    } | {
      readonly wallet: {
        readonly balancePaise: number
        /** Set aside for calls and purchases in progress. */
        readonly heldPaise: number
        readonly thresholdPaise: number
        readonly currency: string
        readonly ratePaisePerMinute: number
        /** No call is placed while the wallet is on hold. */
        readonly onHold: boolean
        readonly holdReason: string | null
        readonly minCallBalancePaise: number
        readonly environment: Open<"test" | "live">
        readonly updatedAt: string
      }
    } | {
      readonly number: {
        readonly id: string
        readonly e164: string
        readonly label: string
        readonly environment: Open<"test" | "live">
        readonly provider: string
        readonly region: string
        readonly numberType: Open<"landline" | "mobile" | "tollfree">
        readonly series: Open<"regular" | "promotional_140" | "service_160">
        readonly capabilities: {
          readonly sms: boolean
          readonly voice: boolean
        }
        readonly currency: "INR"
        readonly rentalPaise: number
        readonly setupPaise: number
        readonly renewalCycle: Open<"anniversary" | "calendar_month">
        readonly nextRentalAt: string | null
        readonly purchasedAt: string | null
        readonly releaseAt: string | null
        readonly releasedAt: string | null
        readonly status: Open<"pending" | "active" | "failed" | "suspended" | "released">
        readonly inbound: Open<"pending" | "ready" | "disabled" | "error">
        /** Why `inbound` is `error`. */
        readonly inboundReason: string | null
        readonly routed: boolean
        readonly routingMode: Open<"svc_agent" | "byo_ws" | "byo_sip">
        readonly agentId: string | null
        readonly recordCalls: boolean
        readonly mediaEndpoint: {
          readonly type: Open<"static" | "twilio" | "plivo" | "vobiz" | "exotel" | "telnyx" | "vonage" | "jambonz" | "audiosocket" | "chan_websocket" | "chan_websocket_json">
          readonly url: string
          readonly format: Open<"linear16" | "mulaw" | "alaw" | "g722" | "opus">
          readonly sampleRate: number
          readonly authSecretId: string | null
          readonly customParameters: Readonly<Record<string, string>>
        } | null
        /** What happens to a call whose bot cannot be reached or is lost. `agent`: `agentId` takes it over. */
        readonly byoFallback: Open<"hangup" | "agent">
        readonly sipTrunk: {
          /** `parley`: the service itself holds the trunk. */
          readonly provider: string
          readonly credentialId: string
          readonly inboundTrunkId: string
          readonly outboundTrunkId: string
          /** Your telephone system, which takes the calls. One that registers has the user name at `terminationDomain` as its address. */
          readonly originationSipUri: string
          readonly originationUriId: string
          /** Where your telephone system places calls. */
          readonly terminationDomain: string
          readonly terminationRealm: string
          readonly terminationUsername: string
          readonly transport: Open<"udp" | "tcp" | "tls">
        } | null
        readonly sipTrunkId: string | null
        readonly createdAt: string
      }
    } | {
      readonly evidenceHead: {
        readonly seq: number
        readonly hash: string
        /** Null before the first record. */
        readonly sealedAt: string | null
        readonly keyId: string
        /** Raw Ed25519 public key, 64 hex digits. */
        readonly publicKey: string
      }
    }
    readonly links: {
      readonly self: string
      readonly recording?: string | undefined
      readonly transcript?: string | undefined
      readonly handoff?: string | undefined
    }
  }
}

export type TransferCallResult = {
  readonly accepted: boolean
  readonly refusal: Open<"destination_not_verified" | "destination_disabled" | "outside_hours" | "destination_not_allowed" | "attempts_exhausted" | "transfer_in_progress" | "not_supported" | "insufficient_funds" | "call_ending"> | null
  /** The attempt that began. After a refusal the latest attempt of the call, or null. */
  readonly transfer: {
    readonly id: string
    /** 1 or 2. */
    readonly attempt: number
    readonly status: Open<"accepted" | "ringing" | "answered" | "bridged" | "completed" | "missed" | "declined" | "failed" | "canceled">
    readonly mode: Open<"blind" | "screened" | "consult">
    readonly trigger: Open<"model" | "api" | "byo" | "dtmf">
    readonly reason: string | null
    readonly outcome: Open<"connected" | "no_answer" | "busy" | "declined" | "caller_hung_up" | "caller_returned" | "call_ended" | "carrier_error" | "destination_unavailable"> | null
    /** What the person heard before the caller. */
    readonly brief: string | null
    readonly destination: {
      readonly label: string
    }
    readonly requestedAt: string
    /** When the person took the call, on attempts with a briefing. */
    readonly acceptedAt: string | null
    readonly answeredAt: string | null
    readonly bridgedAt: string | null
    readonly endedAt: string | null
    readonly humanSeconds: number
    readonly hasRecording: boolean
    readonly hasReturnRecording: boolean
  } | null
}

export type Takeover = {
  readonly id: string
  readonly mode: Open<"takeover">
}

export type ReleaseTakeoverResult = {
  readonly released: true
}

export type Handoff = {
  readonly destination: {
    readonly label: string
  }
  readonly language: string
  readonly agentName: string | null
  readonly callerMasked: string
  readonly brief: string | null
  readonly transcript: readonly ({
    readonly role: Open<"agent" | "caller" | "human_agent">
    readonly text: string
    readonly startMs: number
  })[]
  /** Position of the transcript in the events of the call: their parameter `after`. */
  readonly position: number
  readonly live: boolean
  readonly expiresAt: string
}

export type TransferDestination = {
  readonly id: string
  readonly key: string
  readonly label: string
  readonly e164: string
  /** Windows in Indian time. Null means any time. */
  readonly hours: readonly ({
    readonly days: string
    readonly from: string
    readonly to: string
  })[] | null
  readonly language: string
  /** In the environment of the key. Only verified destinations receive transfers. */
  readonly status: Open<"pending" | "verified" | "disabled">
  readonly verification: {
    /** Wrong codes that are still allowed. 0 if no code waits. */
    readonly attemptsLeft: number
    readonly callsLeftToday: number
    readonly codeExpiresAt: string | null
    readonly lastCallAt: string | null
  }
  readonly verifiedAt: string | null
  readonly createdAt: string
  readonly updatedAt: string
}

export type Webhook = {
  readonly id: string
  readonly url: string
  readonly description: string | null
  readonly events: readonly (Open<"call.initiated" | "call.answered" | "call.completed" | "call.failed" | "call.transfer_started" | "call.transferred" | "call.transfer_failed" | "campaign.completed" | "campaign.paused" | "compliance.check.blocked" | "wallet.balance.low" | "number.renewal_due" | "number.released" | "number.suspended" | "number.reactivated" | "knowledge.build.completed" | "knowledge.build.failed" | "evidence.head">)[]
  readonly enabled: boolean
  /** Number of failed attempts since the last successful one. */
  readonly consecutiveFailures: number
  /** Set if the service disabled the endpoint. */
  readonly disabledReason: Open<"consecutive_failures"> | null
  readonly createdAt: string
  /** Signing secret of the deliveries. */
  readonly secret: string
}

export type ReadWebhookResult = {
  readonly id: string
  readonly url: string
  readonly description: string | null
  readonly events: readonly (Open<"call.initiated" | "call.answered" | "call.completed" | "call.failed" | "call.transfer_started" | "call.transferred" | "call.transfer_failed" | "campaign.completed" | "campaign.paused" | "compliance.check.blocked" | "wallet.balance.low" | "number.renewal_due" | "number.released" | "number.suspended" | "number.reactivated" | "knowledge.build.completed" | "knowledge.build.failed" | "evidence.head">)[]
  readonly enabled: boolean
  /** Number of failed attempts since the last successful one. */
  readonly consecutiveFailures: number
  /** Set if the service disabled the endpoint. */
  readonly disabledReason: Open<"consecutive_failures"> | null
  readonly createdAt: string
}

export type WebhookSecret = {
  readonly secret: string
}

export type RollWebhookSecretResult = {
  readonly secret: string
  readonly previousValidUntil: string
}

export type TestWebhookResult = {
  readonly ok: boolean
  readonly status: number | null
  readonly durationMs: number
  readonly error: string | null
}

export type WebhookSigningSecret = {
  readonly secret: string
}

export type WebhookDelivery = {
  readonly id: string
  readonly endpointId: string
  readonly eventId: string
  readonly type: Open<"call.initiated" | "call.answered" | "call.completed" | "call.failed" | "call.transfer_started" | "call.transferred" | "call.transfer_failed" | "campaign.completed" | "campaign.paused" | "compliance.check.blocked" | "wallet.balance.low" | "number.renewal_due" | "number.released" | "number.suspended" | "number.reactivated" | "knowledge.build.completed" | "knowledge.build.failed" | "evidence.head">
  readonly environment: Open<"test" | "live"> | null
  readonly status: Open<"pending" | "delivered" | "failed">
  readonly attempts: number
  /** HTTP status of the last response. */
  readonly lastStatus: number | null
  readonly lastError: Open<"timeout" | "connection_failed" | "tls_failed" | "name_not_resolved" | "address_refused" | "redirect" | "status" | "interrupted" | "subject_gone" | "endpoint_disabled" | "endpoint_deleted"> | null
  readonly lastDurationMs: number | null
  /** The attempts that have ended, oldest first. */
  readonly attemptLog: readonly ({
    readonly attempt: number
    readonly at: string
    readonly status: number | null
    readonly error: Open<"timeout" | "connection_failed" | "tls_failed" | "name_not_resolved" | "address_refused" | "redirect" | "status" | "interrupted"> | null
    readonly durationMs: number | null
  })[]
  readonly nextAttemptAt: string | null
  readonly createdAt: string
  readonly deliveredAt: string | null
}

export type Failed = {
  readonly sent: number
  readonly more: boolean
}

export type RedeliverEventResult = {
  readonly deliveries: readonly ({
    readonly id: string
    readonly endpointId: string
    readonly eventId: string
    readonly type: Open<"call.initiated" | "call.answered" | "call.completed" | "call.failed" | "call.transfer_started" | "call.transferred" | "call.transfer_failed" | "campaign.completed" | "campaign.paused" | "compliance.check.blocked" | "wallet.balance.low" | "number.renewal_due" | "number.released" | "number.suspended" | "number.reactivated" | "knowledge.build.completed" | "knowledge.build.failed" | "evidence.head">
    readonly environment: Open<"test" | "live"> | null
    readonly status: Open<"pending" | "delivered" | "failed">
    readonly attempts: number
    /** HTTP status of the last response. */
    readonly lastStatus: number | null
    readonly lastError: Open<"timeout" | "connection_failed" | "tls_failed" | "name_not_resolved" | "address_refused" | "redirect" | "status" | "interrupted" | "subject_gone" | "endpoint_disabled" | "endpoint_deleted"> | null
    readonly lastDurationMs: number | null
    /** The attempts that have ended, oldest first. */
    readonly attemptLog: readonly ({
      readonly attempt: number
      readonly at: string
      readonly status: number | null
      readonly error: Open<"timeout" | "connection_failed" | "tls_failed" | "name_not_resolved" | "address_refused" | "redirect" | "status" | "interrupted"> | null
      readonly durationMs: number | null
    })[]
    readonly nextAttemptAt: string | null
    readonly createdAt: string
    readonly deliveredAt: string | null
  })[]
}

export type KnowledgeBase = {
  readonly id: string
  readonly name: string
  /** For people. The agent does not read it. */
  readonly description: string | null
  readonly status: Open<"empty" | "processing" | "ready" | "error">
  readonly deliveryMode: Open<"inline" | "search" | "pending">
  readonly docCount: number
  readonly totalBytes: number
  readonly chunkCount: number | null
  readonly compiledTokens: number | null
  readonly agentCount: number
  readonly error: string | null
  readonly createdAt: string
  readonly updatedAt: string
}

export type KnowledgeUpload = {
  readonly document: {
    readonly id: string
    readonly knowledgeBaseId: string
    readonly name: string
    readonly contentType: string
    readonly bytes: number
    readonly status: Open<"awaiting_upload" | "uploaded" | "processing" | "ready" | "error">
    readonly error: string | null
    readonly chunkCount: number | null
    readonly createdAt: string
  }
  readonly upload: {
    readonly method: "PUT"
    readonly url: string
    /** Send them with the bytes. */
    readonly headers: Readonly<Record<string, string>>
    readonly expiresAt: string
  }
}

export type KnowledgeDocument = {
  readonly id: string
  readonly knowledgeBaseId: string
  readonly name: string
  readonly contentType: string
  readonly bytes: number
  readonly status: Open<"awaiting_upload" | "uploaded" | "processing" | "ready" | "error">
  readonly error: string | null
  readonly chunkCount: number | null
  readonly createdAt: string
}

export type BuildKnowledgeBaseResult = {
  readonly build: {
    readonly id: string
    readonly knowledgeBaseId: string
    readonly status: Open<"processing" | "completed" | "failed">
    readonly error: string | null
    readonly documents: number
    /** Documents that are read, or that cannot be read. */
    readonly documentsDone: number
    readonly chunkCount: number | null
    readonly compiledTokens: number | null
    /** Model whose vectors the search uses besides words. Null for words only. */
    readonly embeddingModel: string | null
    /** What a completed build does without, and why, as sentences for people. */
    readonly warnings: readonly (string)[]
    /** Tokens that the models of the build counted. Unchanged passages take none. */
    readonly modelTokens: {
      readonly embedding: number
      readonly prompt: number
      readonly completion: number
    }
    readonly startedAt: string
    readonly finishedAt: string | null
  }
}

export type KnowledgeBuild = {
  readonly id: string
  readonly knowledgeBaseId: string
  readonly status: Open<"processing" | "completed" | "failed">
  readonly error: string | null
  readonly documents: number
  /** Documents that are read, or that cannot be read. */
  readonly documentsDone: number
  readonly chunkCount: number | null
  readonly compiledTokens: number | null
  /** Model whose vectors the search uses besides words. Null for words only. */
  readonly embeddingModel: string | null
  /** What a completed build does without, and why, as sentences for people. */
  readonly warnings: readonly (string)[]
  /** Tokens that the models of the build counted. Unchanged passages take none. */
  readonly modelTokens: {
    readonly embedding: number
    readonly prompt: number
    readonly completion: number
  }
  readonly startedAt: string
  readonly finishedAt: string | null
}

export type Wallet = {
  readonly balancePaise: number
  /** Set aside for calls and purchases in progress. */
  readonly heldPaise: number
  readonly thresholdPaise: number
  readonly currency: string
  readonly ratePaisePerMinute: number
  /** No call is placed while the wallet is on hold. */
  readonly onHold: boolean
  readonly holdReason: string | null
  readonly minCallBalancePaise: number
  readonly environment: Open<"test" | "live">
  readonly updatedAt: string
}

export type WalletUsage = {
  readonly period: string
  readonly from: string | null
  readonly to: string
  readonly agentId: string | null
  readonly totalSpentPaise: number
  /** Top-ups without what was refunded. */
  readonly addedPaise: number
  readonly categories: readonly ({
    readonly category: string
    readonly spentPaise: number
    readonly entries: number
  })[]
}

export type Topup = {
  readonly id: string
  /** What the wallet gets, without tax. */
  readonly amountPaise: number
  readonly taxPaise: number
  readonly payablePaise: number
  readonly status: Open<"created" | "paid" | "failed" | "expired" | "partially_refunded" | "refunded" | "disputed">
  /** Page that leads to the payment. Null when nothing can be paid any more. */
  readonly checkoutUrl: string | null
  readonly createdAt: string
  readonly expiresAt: string
  readonly paidAt: string | null
}

export type PaymentEvent = {
  readonly received: boolean
}

export type Invoice = {
  readonly id: string
  readonly number: string
  readonly kind: Open<"invoice" | "credit_note" | "receipt_voucher" | "refund_voucher">
  /** True if the payment was no money. */
  readonly specimen: boolean
  readonly issuedAt: string
  readonly supplier: {
    readonly name: string
    readonly address: string
    readonly city: string | null
    readonly pincode: string | null
    readonly stateCode: string
    readonly gstin: string | null
  }
  /** The billing details when the top-up was started. */
  readonly recipient: {
    readonly name: string
    readonly address: string
    readonly city: string | null
    readonly pincode: string | null
    readonly stateCode: string
    readonly gstin: string | null
    readonly sez: boolean
  }
  /** GST code of the state. */
  readonly placeOfSupply: string
  readonly lines: readonly ({
    readonly description: string
    readonly sac: string
    readonly ratePercent: number
    readonly taxablePaise: number
  })[]
  readonly cgstPaise: number
  readonly sgstPaise: number
  readonly utgstPaise: number
  readonly igstPaise: number
  readonly roundOffPaise: number
  readonly totalPaise: number
  readonly topupId: string
  readonly originalInvoiceId: string | null
  /** Registration at an Invoice Registration Portal. Null if the document needs none. A pending document is no invoice yet and has no PDF. */
  readonly eInvoice: {
    readonly status: Open<"pending" | "registered">
    readonly irn: string | null
    readonly ackNo: string | null
    readonly ackAt: string | null
  } | null
}

export type Limits = {
  readonly environment: Open<"test" | "live">
  readonly requests: {
    readonly limitPerMinute: number
    readonly remaining: number
  }
  readonly concurrency: {
    readonly agentCalls: {
      readonly inUse: number
      readonly limit: number
    }
    readonly byoCalls: {
      readonly inUse: number
      readonly limit: number
    }
  }
}

export type Overview = {
  readonly running: {
    readonly calls: number
    readonly limit: number
    readonly campaigns: number
  }
  /** The last 8 days, today last. */
  readonly days: readonly ({
    /** In India, `YYYY-MM-DD`. */
    readonly day: string
    readonly calls: number
    readonly answered: number
    readonly failed: number
    /** Billed seconds. */
    readonly seconds: number
    readonly billedPaise: number
  })[]
  /** Of at most 1,000 calls of the last 24 hours: the median of their values. */
  readonly latency: {
    readonly calls: number
    readonly firstAudioMs: number | null
    readonly turnP50Ms: number | null
    /** The 95th percentile of that of the calls. */
    readonly turnP95Ms: number | null
  }
  readonly problems: readonly ({
    readonly code: Open<"calls_blocked" | "wallet_on_hold" | "wallet_low" | "calls_failing" | "trunk_disabled" | "trunk_unreachable" | "endpoint_disabled" | "endpoint_failing" | "events_lost" | "campaign_paused" | "campaign_failed" | "number_not_reachable" | "vendor_resting">
    /** Null concerns the whole organization. */
    readonly subject: {
      readonly type: Open<"trunk" | "endpoint" | "campaign" | "number">
      readonly id: string
      readonly label: string
    } | null
    readonly detail: string | null
    /** Why, as a code. Null if `detail` is only a sentence, or unknown. */
    readonly reason: string | null
    /** The numbers of `detail`: `failed` and `calls`, `attempts` or `events`. */
    readonly counts: Readonly<Record<string, number>>
    readonly remedy: string
  })[]
}

export type Organization = {
  readonly id: string
  readonly name: string
  readonly billing: {
    readonly name: string | null
    readonly address: string | null
    readonly city: string | null
    readonly pincode: string | null
    readonly stateCode: string | null
    readonly gstin: string | null
    /** True for a unit or a developer of a special economic zone. */
    readonly sez: boolean
  }
  /** Purpose of calls that new agents start with. Null is treated as promotional. */
  readonly senderClassification: Open<"promotional" | "service" | "transactional" | "collections"> | null
  readonly verification: {
    readonly status: Open<"unverified" | "submitted" | "verified" | "rejected">
    readonly submittedAt: string | null
    readonly decidedAt: string | null
    readonly rejectionReason: string | null
  }
  /** Principal entity ID in the DLT registers of the access providers. */
  readonly peId: string | null
  readonly robocallMode: Open<"off" | "warn" | "block">
  /** Narrower calling hours of the organization for commercial calls, in minutes after midnight IST. */
  readonly windowNarrowing: {
    readonly startMinute: number
    readonly endMinute: number
  } | null
  readonly campaignSharePercent: number
  /** What people may do with live calls of each environment: owners and admins, and with `developers` developers. A call that may be monitored begins with the recording notice of its agent. */
  readonly monitoring: {
    readonly test: Open<"off" | "listen" | "listen_and_takeover">
    readonly live: Open<"off" | "listen" | "listen_and_takeover">
    readonly developers: boolean
  }
  /** True if members act for the organization only in sessions with a second factor. API keys are not affected. */
  readonly requireSecondFactor: boolean
  readonly createdAt: string
}

export type ReadVerificationResult = {
  readonly status: Open<"unverified" | "submitted" | "verified" | "rejected">
  readonly submittedAt: string | null
  readonly decidedAt: string | null
  readonly rejectionReason: string | null
  /** Latest submission. Visible to owners and admins only. */
  readonly submission: {
    readonly legalName: string
    readonly entityType: Open<"individual" | "proprietorship" | "partnership" | "llp" | "private_limited" | "public_limited" | "trust" | "society" | "government" | "other">
    readonly gstin: string | null
    readonly pan: string | null
    readonly registeredAddress: {
      readonly address: string
      readonly city: string
      readonly pincode: string
      readonly stateCode: string
    }
    readonly authorisedPerson: {
      readonly name: string
      readonly email: string
      readonly phone: string
    }
    readonly documents: readonly (string)[]
  } | null
}

export type VerificationUpload = {
  readonly uploadId: string
  readonly upload: {
    readonly method: "PUT"
    readonly url: string
    /** Send them with the bytes. */
    readonly headers: Readonly<Record<string, string>>
    readonly expiresAt: string
  }
}

export type Robocalls = {
  readonly id: string
  readonly provider: string
  readonly reference: string
  readonly objective: string
  readonly callerIds: readonly (string)[]
  readonly declaredOn: string
  readonly effectiveFrom: string
  readonly status: Open<"declared" | "withdrawn">
  readonly withdrawnAt: string | null
  readonly createdAt: string
}

export type SenderId = {
  readonly id: string
  readonly series: Open<"140" | "1600" | "1601">
  readonly e164: string
  readonly category: Open<"promotional" | "service" | "transactional" | "government">
  readonly dltHeaderId: string
  readonly status: Open<"submitted" | "approved" | "rejected" | "revoked">
  readonly decidedAt: string | null
  readonly rejectionReason: string | null
  readonly createdAt: string
}

export type Secret = {
  readonly id: string
  readonly name: string
  /** Last four characters of the value. Null if the value is too short to show any. */
  readonly last4: string | null
  /** Hosts that the secret may be sent to. Empty for a secret of an earlier release, which is sent only where it was sent before the update. */
  readonly hosts: readonly (string)[]
  readonly usedBy: readonly ({
    readonly type: Open<"connection" | "agent" | "number">
    readonly id: string
  })[]
  readonly createdAt: string
  readonly updatedAt: string
}

export type Connection = {
  readonly id: string
  readonly kind: Open<"http">
  readonly name: string
  readonly baseUrl: string
  readonly secretId: string | null
  readonly status: Open<"untested" | "ok" | "failing">
  readonly testedAt: string | null
  readonly createdAt: string
  readonly updatedAt: string
}

export type TestConnectionResult = {
  readonly ok: boolean
  /** HTTP status of the response. Null without a response. */
  readonly status: number | null
  readonly durationMs: number
  readonly error: Open<"timeout" | "connection_failed" | "tls_failed" | "name_not_resolved" | "address_refused" | "redirect" | "credential_refused" | "secret_host_not_allowed" | "server_error"> | null
}

export type OrganizationAsStaff = {
  readonly id: string
  readonly name: string
  readonly billing: {
    readonly name: string | null
    readonly address: string | null
    readonly city: string | null
    readonly pincode: string | null
    readonly stateCode: string | null
    readonly gstin: string | null
    /** True for a unit or a developer of a special economic zone. */
    readonly sez: boolean
  }
  /** Purpose of calls that new agents start with. Null is treated as promotional. */
  readonly senderClassification: Open<"promotional" | "service" | "transactional" | "collections"> | null
  readonly verification: {
    readonly status: Open<"unverified" | "submitted" | "verified" | "rejected">
    readonly submittedAt: string | null
    readonly decidedAt: string | null
    readonly rejectionReason: string | null
  }
  /** Principal entity ID in the DLT registers of the access providers. */
  readonly peId: string | null
  readonly robocallMode: Open<"off" | "warn" | "block">
  /** Narrower calling hours of the organization for commercial calls, in minutes after midnight IST. */
  readonly windowNarrowing: {
    readonly startMinute: number
    readonly endMinute: number
  } | null
  readonly campaignSharePercent: number
  /** What people may do with live calls of each environment: owners and admins, and with `developers` developers. A call that may be monitored begins with the recording notice of its agent. */
  readonly monitoring: {
    readonly test: Open<"off" | "listen" | "listen_and_takeover">
    readonly live: Open<"off" | "listen" | "listen_and_takeover">
    readonly developers: boolean
  }
  /** True if members act for the organization only in sessions with a second factor. API keys are not affected. */
  readonly requireSecondFactor: boolean
  readonly createdAt: string
  readonly submission: {
    readonly legalName: string
    readonly entityType: Open<"individual" | "proprietorship" | "partnership" | "llp" | "private_limited" | "public_limited" | "trust" | "society" | "government" | "other">
    readonly gstin: string | null
    readonly pan: string | null
    readonly registeredAddress: {
      readonly address: string
      readonly city: string
      readonly pincode: string
      readonly stateCode: string
    }
    readonly authorisedPerson: {
      readonly name: string
      readonly email: string
      readonly phone: string
    }
    readonly documents: readonly (string)[]
  } | null
  readonly enforcement: {
    readonly blocked: boolean
    readonly since: string | null
    readonly reason: Open<"kill_switch"> | null
  }
  readonly limits: {
    readonly requestsPerMinute: {
      readonly test: number
      readonly live: number
    }
    readonly agentCalls: {
      readonly test: number
      readonly live: number
    }
    readonly byoCalls: {
      readonly test: number
      readonly live: number
    }
  }
  readonly ratePaisePerMinute: number
  readonly trunkingEnabled: boolean
  readonly wallet: {
    readonly balancePaise: number
    /** Set aside for calls and purchases in progress. */
    readonly heldPaise: number
    readonly thresholdPaise: number
    readonly currency: string
    readonly ratePaisePerMinute: number
    /** No call is placed while the wallet is on hold. */
    readonly onHold: boolean
    readonly holdReason: string | null
    readonly minCallBalancePaise: number
    readonly environment: Open<"test" | "live">
    readonly updatedAt: string
  }
}

export type AdjustWalletResult = {
  readonly id: string
  readonly name: string
  readonly billing: {
    readonly name: string | null
    readonly address: string | null
    readonly city: string | null
    readonly pincode: string | null
    readonly stateCode: string | null
    readonly gstin: string | null
    /** True for a unit or a developer of a special economic zone. */
    readonly sez: boolean
  }
  /** Purpose of calls that new agents start with. Null is treated as promotional. */
  readonly senderClassification: Open<"promotional" | "service" | "transactional" | "collections"> | null
  readonly verification: {
    readonly status: Open<"unverified" | "submitted" | "verified" | "rejected">
    readonly submittedAt: string | null
    readonly decidedAt: string | null
    readonly rejectionReason: string | null
  }
  /** Principal entity ID in the DLT registers of the access providers. */
  readonly peId: string | null
  readonly robocallMode: Open<"off" | "warn" | "block">
  /** Narrower calling hours of the organization for commercial calls, in minutes after midnight IST. */
  readonly windowNarrowing: {
    readonly startMinute: number
    readonly endMinute: number
  } | null
  readonly campaignSharePercent: number
  /** What people may do with live calls of each environment: owners and admins, and with `developers` developers. A call that may be monitored begins with the recording notice of its agent. */
  readonly monitoring: {
    readonly test: Open<"off" | "listen" | "listen_and_takeover">
    readonly live: Open<"off" | "listen" | "listen_and_takeover">
    readonly developers: boolean
  }
  /** True if members act for the organization only in sessions with a second factor. API keys are not affected. */
  readonly requireSecondFactor: boolean
  readonly createdAt: string
  readonly submission: {
    readonly legalName: string
    readonly entityType: Open<"individual" | "proprietorship" | "partnership" | "llp" | "private_limited" | "public_limited" | "trust" | "society" | "government" | "other">
    readonly gstin: string | null
    readonly pan: string | null
    readonly registeredAddress: {
      readonly address: string
      readonly city: string
      readonly pincode: string
      readonly stateCode: string
    }
    readonly authorisedPerson: {
      readonly name: string
      readonly email: string
      readonly phone: string
    }
    readonly documents: readonly (string)[]
  } | null
  readonly enforcement: {
    readonly blocked: boolean
    readonly since: string | null
    readonly reason: Open<"kill_switch"> | null
  }
  readonly limits: {
    readonly requestsPerMinute: {
      readonly test: number
      readonly live: number
    }
    readonly agentCalls: {
      readonly test: number
      readonly live: number
    }
    readonly byoCalls: {
      readonly test: number
      readonly live: number
    }
  }
  readonly ratePaisePerMinute: number
  readonly trunkingEnabled: boolean
  readonly wallet: {
    readonly balancePaise: number
    /** Set aside for calls and purchases in progress. */
    readonly heldPaise: number
    readonly thresholdPaise: number
    readonly currency: string
    readonly ratePaisePerMinute: number
    /** No call is placed while the wallet is on hold. */
    readonly onHold: boolean
    readonly holdReason: string | null
    readonly minCallBalancePaise: number
    readonly environment: Open<"test" | "live">
    readonly updatedAt: string
  }
  readonly adjustment: {
    readonly id: string
    readonly organizationId: string
    readonly organizationName: string
    readonly amountPaise: number
    readonly reference: string
    readonly reason: string
    /** applied and approved have moved the money; pending waits for a second member of staff. */
    readonly status: Open<"applied" | "pending" | "approved" | "rejected">
    readonly requestedBy: string
    readonly requestedByEmail: string
    readonly createdAt: string
    readonly decidedBy: string | null
    readonly decidedAt: string | null
    readonly decisionReason: string | null
  }
}

export type WalletAdjustment = {
  readonly id: string
  readonly organizationId: string
  readonly organizationName: string
  readonly amountPaise: number
  readonly reference: string
  readonly reason: string
  /** applied and approved have moved the money; pending waits for a second member of staff. */
  readonly status: Open<"applied" | "pending" | "approved" | "rejected">
  readonly requestedBy: string
  readonly requestedByEmail: string
  readonly createdAt: string
  readonly decidedBy: string | null
  readonly decidedAt: string | null
  readonly decisionReason: string | null
}

export type SipAccessRequest = {
  readonly id: string
  readonly organizationId: string
  readonly message: string
  readonly status: Open<"pending" | "approved" | "rejected">
  readonly rejectionReason: string | null
  readonly requestedAt: string
  readonly reviewedAt: string | null
}

export type PaymentException = {
  readonly id: string
  readonly gateway: string
  readonly kind: Open<"unknown_order" | "unknown_event" | "amount_mismatch" | "second_payment" | "refund_exceeds_balance" | "credit_note_late" | "dispute_lost" | "uncredited_payment" | "unknown_refund" | "unknown_adjustment" | "unsettled_payment" | "settlement_amount" | "webhooks_stopped">
  /** What it is about, for example the id of a payment. */
  readonly subject: string
  readonly organizationId: string | null
  readonly topupId: string | null
  readonly paymentId: string | null
  readonly amountPaise: number | null
  readonly details: Readonly<Record<string, unknown>>
  readonly createdAt: string
  readonly resolution: Open<"refund" | "credit_note" | "dismiss"> | null
  readonly reason: string | null
  readonly resolvedBy: string | null
  readonly resolvedAt: string | null
}

export type DndScrub = {
  readonly id: string
  readonly scrubbedAt: string
  readonly validUntil: string
  /** Rows of the file. Null until the whole file is stored. */
  readonly rows: number | null
  /** Hash of the file, which evidence of calls names. */
  readonly sha256: string | null
  /** Id of the staff user. Null for an import on the command line. */
  readonly createdBy: string | null
  readonly createdAt: string
  /** Null while the import runs. */
  readonly importedAt: string | null
}

export type SandboxInboundCall = {
  readonly numberId: string
  readonly from: string
  readonly to: string
  readonly persona: string
  readonly callId: string
}

export type SecurityEvents = {
  readonly id: string
  readonly userId: string
  readonly email: string
  readonly actor: Open<"user" | "system">
  /** For example second_factor.added. New actions may be added. */
  readonly action: string
  readonly kind: Open<"totp" | "passkey" | "recovery_code"> | null
  readonly name: string | null
  readonly createdAt: string
}

export type Voices = {
  readonly ttsModel: string
  readonly ttsVoice: string
  readonly gender: Open<"female" | "male" | "neutral">
  readonly languages: readonly (string)[]
  readonly sttModels: readonly (string)[]
  readonly paceMin: number
  readonly paceMax: number
}

export type Models = {
  readonly llmModel: string
  readonly label: string
  /** Whether the model answers. False for at least half a minute after several failures in a row on calls. */
  readonly available: boolean
  /** Date from which the vendor does not serve the model any more; null when none is known. */
  readonly retiresOn: string | null
  /** Model that the vendor recommends instead. */
  readonly successor: string | null
}

export type NumberCarriers = {
  readonly label: string
  readonly provider: string
}

export type NumberRegions = {
  readonly code: string
  readonly name: string
  readonly provider: string
  readonly numberTypes: readonly (Open<"landline" | "mobile" | "tollfree">)[]
}

export type AvailableNumbers = {
  readonly e164: string
  readonly provider: string
  readonly region: string
  readonly numberType: Open<"landline" | "mobile" | "tollfree">
  readonly series: Open<"regular" | "promotional_140" | "service_160">
  readonly capabilities: {
    readonly sms: boolean
    readonly voice: boolean
  }
  readonly currency: "INR"
  readonly rentalPaise: number
  readonly setupPaise: number
  readonly renewalCycle: Open<"anniversary" | "calendar_month">
  /** Set-up fee and the first month. */
  readonly totalPaise: number
  /** First renewal if it is bought now. */
  readonly renewsAt: string
}

export type CallMonitors = {
  readonly id: string
  readonly userId: string
  readonly mode: Open<"listen" | "takeover">
  readonly createdAt: string
  /** Null for a takeover that did not happen, or not yet. */
  readonly startedAt: string | null
  readonly endedAt: string | null
  /** How a takeover ended. Null for a listening. */
  readonly outcome: Open<"given_back" | "left" | "withdrawn" | "no_answer" | "busy" | "declined" | "call_ended" | "carrier_error" | "destination_unavailable"> | null
}

export type Events = {
  readonly id: string
  readonly type: Open<"call.initiated" | "call.answered" | "call.completed" | "call.failed" | "call.transfer_started" | "call.transferred" | "call.transfer_failed" | "campaign.completed" | "campaign.paused" | "compliance.check.blocked" | "wallet.balance.low" | "number.renewal_due" | "number.released" | "number.suspended" | "number.reactivated" | "knowledge.build.completed" | "knowledge.build.failed" | "evidence.head">
  readonly environment: Open<"test" | "live"> | null
  readonly subjectType: Open<"call" | "campaign" | "check" | "wallet" | "number" | "knowledge_base">
  readonly subjectId: string
  readonly createdAt: string
  /** Latest delivery to this endpoint. Null if no endpoint is subscribed to the event. */
  readonly delivery: {
    readonly endpointId: string
    readonly status: Open<"pending" | "delivered" | "failed">
    readonly attempts: number
    readonly lastStatus: number | null
    readonly deliveredAt: string | null
  } | null
}

export type CallTransfers = {
  readonly id: string
  /** 1 or 2. */
  readonly attempt: number
  readonly status: Open<"accepted" | "ringing" | "answered" | "bridged" | "completed" | "missed" | "declined" | "failed" | "canceled">
  readonly mode: Open<"blind" | "screened" | "consult">
  readonly trigger: Open<"model" | "api" | "byo" | "dtmf">
  readonly reason: string | null
  readonly outcome: Open<"connected" | "no_answer" | "busy" | "declined" | "caller_hung_up" | "caller_returned" | "call_ended" | "carrier_error" | "destination_unavailable"> | null
  /** What the person heard before the caller. */
  readonly brief: string | null
  readonly destination: {
    readonly label: string
  }
  readonly requestedAt: string
  /** When the person took the call, on attempts with a briefing. */
  readonly acceptedAt: string | null
  readonly answeredAt: string | null
  readonly bridgedAt: string | null
  readonly endedAt: string | null
  readonly humanSeconds: number
  readonly hasRecording: boolean
  readonly hasReturnRecording: boolean
}

export type SearchKnowledgeBaseResult = {
  readonly text: string
  /** Share of the question that the passage covers, 0 to 1. */
  readonly score: number
  readonly documentId: string
  readonly documentName: string
  /** Position of the passage in its document, from 0. */
  readonly index: number
  readonly heading: string
  /** From 1. Null for formats without pages. */
  readonly page: number | null
  /** How the passage was found: by its words, their sounds, the questions that a model made for it, or its meaning. */
  readonly matched: readonly (Open<"words" | "sounds" | "questions" | "vectors">)[]
}

export type KnowledgeBaseAgents = {
  readonly id: string
  readonly name: string
  readonly inDraft: boolean
  readonly inPublished: boolean
  readonly publishedVersion: number | null
}

export type Ledger = {
  readonly id: string
  readonly seq: number
  readonly type: Open<"topup" | "topup_refund" | "call" | "number_setup" | "number_rental" | "compliance_check" | "adjustment" | "reversal">
  readonly category: Open<"calls" | "numbers" | "compliance" | "adjustments"> | null
  /** Positive adds to the balance, negative takes from it. */
  readonly amountPaise: number
  readonly balanceAfterPaise: number
  readonly currency: string
  readonly description: string
  readonly reference: {
    readonly type: Open<"call" | "number" | "topup" | "check" | "adjustment">
    readonly id: string
  }
  readonly agentId: string | null
  readonly reversesEntryId: string | null
  readonly invoiceId: string | null
  readonly createdAt: string
}

export type AuditLog = {
  readonly id: string
  readonly actor: {
    readonly type: Open<"user" | "staff" | "key" | "system">
    readonly id: string
  }
  /** Name of the action, for example organization.updated. New actions may be added. */
  readonly action: string
  readonly subject: {
    readonly type: string
    readonly id: string
  }
  readonly reason: string | null
  readonly before: Readonly<Record<string, unknown>> | null
  readonly after: Readonly<Record<string, unknown>> | null
  readonly requestId: string | null
  readonly createdAt: string
}

export type Organizations = {
  readonly id: string
  readonly name: string
  readonly verification: {
    readonly status: Open<"unverified" | "submitted" | "verified" | "rejected">
    readonly submittedAt: string | null
    readonly decidedAt: string | null
    readonly rejectionReason: string | null
  }
  readonly blocked: boolean
  readonly createdAt: string
}

/** Body of `createApiKey`. */
export type CreateApiKeyBody = {
  readonly name: string
  readonly environment: "test" | "live"
  readonly scopes?: readonly ("read" | "write" | "admin")[] | undefined
  readonly expiresAt?: string | undefined
}

/** Query of `listApiKeys`. */
export type ListApiKeysQuery = {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** Body of `narrowApiKey`. */
export type NarrowApiKeyBody = {
  readonly scopes?: readonly ("read" | "write" | "admin")[] | undefined
}

/** Body of `rollApiKey`. */
export type RollApiKeyBody = {
  readonly expireOldIn?: "now" | "1h" | "24h" | "7d" | undefined
}

/** Body of `checkEmailAvailable`. */
export type CheckEmailAvailableBody = {
  readonly email: string
}

/** Body of `signUp`. */
export type SignUpBody = {
  readonly email: string
  readonly password?: string | undefined
  readonly name?: string | undefined
  readonly organizationName: string
}

/** Body of `verifyEmail`. */
export type VerifyEmailBody = {
  readonly token: string
  readonly password?: string | undefined
  readonly name?: string | undefined
}

/** Body of `resendVerification`. */
export type ResendVerificationBody = {
  readonly email: string
}

/** Body of `logIn`. */
export type LogInBody = {
  readonly email: string
  readonly password: string
}

/** Body of `forgotPassword`. */
export type ForgotPasswordBody = {
  readonly email: string
}

/** Body of `resetPassword`. */
export type ResetPasswordBody = {
  readonly token: string
  readonly password: string
}

/** Body of `changePassword`. */
export type ChangePasswordBody = {
  readonly currentPassword: string
  readonly newPassword: string
}

/** Body of `verifyLogin`. */
export type VerifyLoginBody = {
  readonly challengeId: string
  /** Six digits of the authenticator app. */
  readonly code?: string | undefined
  /** PublicKeyCredential.toJSON() of the used passkey. */
  readonly assertion?: {
    readonly id: string
    readonly rawId: string
    readonly type: "public-key"
    readonly authenticatorAttachment?: string | null | undefined
    readonly clientExtensionResults: Readonly<Record<string, never>>
    readonly response: {
      readonly clientDataJSON: string
      readonly authenticatorData: string
      readonly signature: string
      readonly userHandle?: string | null | undefined
    }
  } | undefined
  readonly recoveryCode?: string | undefined
}

/** Body of `addFactor`. */
export type AddFactorBody = {
  readonly kind: "totp" | "passkey"
  readonly name?: string | undefined
}

/** Body of `confirmFactor`. */
export type ConfirmFactorBody = {
  /** Six digits of the authenticator app. */
  readonly code?: string | undefined
  /** PublicKeyCredential.toJSON() of the new passkey. */
  readonly attestation?: {
    readonly id: string
    readonly rawId: string
    readonly type: "public-key"
    readonly authenticatorAttachment?: string | null | undefined
    readonly clientExtensionResults: Readonly<Record<string, never>>
    readonly response: {
      readonly clientDataJSON: string
      readonly attestationObject: string
      readonly transports?: readonly (string)[] | undefined
    }
  } | undefined
}

/** Query of `listSecurityEvents`. */
export type ListSecurityEventsQuery = {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** Query of `listStaffSecurityEvents`. */
export type ListStaffSecurityEventsQuery = {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** Query of `listMembers`. */
export type ListMembersQuery = {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** Body of `changeMemberRole`. */
export type ChangeMemberRoleBody = {
  readonly role: "owner" | "admin" | "developer" | "viewer" | "billing"
}

/** Body of `inviteMember`. */
export type InviteMemberBody = {
  readonly email: string
  readonly role: "owner" | "admin" | "developer" | "viewer" | "billing"
}

/** Query of `listInvitations`. */
export type ListInvitationsQuery = {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** Body of `acceptInvitation`. */
export type AcceptInvitationBody = {
  readonly token: string
  readonly name?: string | undefined
  readonly password?: string | undefined
}

/** Body of `reportLeakedKeys`. */
export type ReportLeakedKeysBody = {
  readonly reports: readonly ({
    readonly token: string
    readonly url?: string | undefined
  })[]
}

/** Body of `createAgent`. */
export type CreateAgentBody = {
  readonly name: string
  readonly description?: string | null | undefined
  readonly systemPrompt?: string | undefined
  readonly llmModel?: string | undefined
  readonly knowledgeBaseIds?: readonly (string)[] | undefined
  readonly inputVariables?: readonly ({
    readonly name: string
    readonly description?: string | undefined
    readonly required?: boolean | undefined
    readonly default?: string | null | undefined
  })[] | undefined
  readonly outputVariables?: readonly ({
    readonly name: string
    readonly description?: string | undefined
    readonly type: "string" | "number" | "boolean" | "enum" | "date"
    readonly enumValues?: readonly (string)[] | undefined
  })[] | undefined
  readonly evaluationCriteria?: readonly ({
    readonly id?: string | undefined
    readonly name: string
    readonly prompt: string
  })[] | undefined
  readonly ttsOptions?: {
    readonly pace?: number | undefined
  } | undefined
  readonly voice?: {
    readonly languages?: readonly ("en-IN" | "hi-IN" | "bn-IN" | "ta-IN" | "te-IN" | "kn-IN" | "ml-IN" | "mr-IN" | "gu-IN" | "pa-IN" | "od-IN" | "or-IN")[] | undefined
    readonly sttLanguage?: "en-IN" | "hi-IN" | "bn-IN" | "ta-IN" | "te-IN" | "kn-IN" | "ml-IN" | "mr-IN" | "gu-IN" | "pa-IN" | "od-IN" | "or-IN" | undefined
    readonly sttMode?: "transcribe" | "translate" | "codemix" | undefined
    readonly sttModel?: string | undefined
    readonly ttsModel?: string | undefined
    readonly ttsVoice?: string | undefined
  } | undefined
  readonly tools?: readonly ({
    readonly name: string
    readonly description: string
    readonly parameters?: readonly ({
      readonly name: string
      readonly description?: string | undefined
      readonly required?: boolean | undefined
      readonly type: "string" | "number" | "integer" | "boolean"
    })[] | undefined
    readonly connectionId?: string | null | undefined
    readonly preset?: "end_call" | "transfer_call" | "send_dtmf" | "opt_out" | "schedule_callback" | null | undefined
    readonly speech?: Readonly<Record<string, string>> | undefined
    readonly mock?: {
      readonly enabled: boolean
      readonly response?: string | undefined
    } | null | undefined
    readonly http?: {
      readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE"
      readonly url: string
      readonly timeoutMs?: number | undefined
      readonly headers?: Readonly<Record<string, string>> | undefined
      readonly bodyFormat?: "json" | "form" | undefined
      readonly bodyRoot?: string | null | undefined
      readonly auth?: {
        readonly type: "none" | "bearer" | "basic" | "api_key"
        readonly in?: "header" | "query" | null | undefined
        readonly name?: string | null | undefined
        readonly header?: string | null | undefined
        readonly secretId?: string | null | undefined
        readonly secondary?: {
          readonly in: "header" | "query"
          readonly name: string
          readonly secretId: string
        } | null | undefined
      } | null | undefined
    } | null | undefined
  })[] | undefined
  readonly callSettings?: {
    readonly businessName?: string | undefined
    readonly recordingNotice?: {
      readonly text: string
    } | null | undefined
    readonly openingLine?: {
      readonly text: string
    } | null | undefined
    readonly inboundOpeningLine?: {
      readonly text: string
    } | null | undefined
    readonly hangupLine?: {
      readonly text: string
    } | null | undefined
    readonly maxCallSeconds?: number | undefined
    readonly background?: {
      readonly sound?: "none" | "office" | "cafe" | "call_center" | undefined
      readonly volume?: number | undefined
    } | undefined
    readonly nudges?: {
      readonly enabled?: boolean | undefined
      readonly hangupAfter?: boolean | undefined
      readonly steps?: readonly ({
        /** Seconds of silence until the step, added up over the steps: with 10 and 20 the second step follows 10 seconds after the first. A value not greater than the one before counts from the step before. */
        readonly afterSeconds: number
        readonly line: {
          readonly text: string
        }
      })[] | undefined
    } | undefined
    readonly voicemail?: {
      readonly enabled?: boolean | undefined
      readonly windowSeconds?: number | undefined
      readonly message?: {
        readonly text: string
      } | null | undefined
    } | undefined
    readonly optOut?: {
      readonly phrases?: boolean | undefined
      readonly dtmfKey?: string | null | undefined
    } | undefined
    readonly turnTaking?: {
      readonly preset?: "fast" | "balanced" | "patient" | undefined
      readonly maxWaitMs?: number | null | undefined
      readonly interruption?: {
        readonly minMs?: number | null | undefined
        readonly minWords?: number | undefined
      } | undefined
      readonly backchannels?: boolean | undefined
    } | undefined
    readonly opening?: {
      readonly protected?: boolean | undefined
    } | undefined
    readonly vocabulary?: readonly (string)[] | undefined
    readonly noiseSuppression?: boolean | undefined
    readonly transfer?: {
      readonly handoff?: "cold" | "warm" | undefined
      readonly blindTransfers?: boolean | undefined
      readonly defaultDestinationId?: string | null | undefined
      readonly destinations?: readonly ({
        readonly destinationId: string
        readonly fallbackDestinationId?: string | null | undefined
        readonly when?: string | undefined
      })[] | undefined
      readonly dtmfKey?: string | null | undefined
      readonly preTransferLine?: {
        readonly text: string
      } | null | undefined
      readonly afterMissLine?: {
        readonly text: string
      } | null | undefined
      readonly recordHumanSegment?: boolean | undefined
      readonly requestPhrases?: boolean | undefined
      readonly ringTimeoutSeconds?: number | undefined
    } | undefined
  } | undefined
}

/** Query of `listAgents`. */
export type ListAgentsQuery = {
  readonly search?: string | undefined
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** Body of `updateAgent`. */
export type UpdateAgentBody = {
  readonly name?: string | undefined
  readonly description?: string | null | undefined
  readonly systemPrompt?: string | undefined
  readonly llmModel?: string | undefined
  readonly knowledgeBaseIds?: readonly (string)[] | undefined
  readonly inputVariables?: readonly ({
    readonly name: string
    readonly description?: string | undefined
    readonly required?: boolean | undefined
    readonly default?: string | null | undefined
  })[] | undefined
  readonly outputVariables?: readonly ({
    readonly name: string
    readonly description?: string | undefined
    readonly type: "string" | "number" | "boolean" | "enum" | "date"
    readonly enumValues?: readonly (string)[] | undefined
  })[] | undefined
  readonly evaluationCriteria?: readonly ({
    readonly id?: string | undefined
    readonly name: string
    readonly prompt: string
  })[] | undefined
  readonly ttsOptions?: {
    readonly pace?: number | undefined
  } | undefined
  readonly voice?: {
    readonly languages?: readonly ("en-IN" | "hi-IN" | "bn-IN" | "ta-IN" | "te-IN" | "kn-IN" | "ml-IN" | "mr-IN" | "gu-IN" | "pa-IN" | "od-IN" | "or-IN")[] | undefined
    readonly sttLanguage?: "en-IN" | "hi-IN" | "bn-IN" | "ta-IN" | "te-IN" | "kn-IN" | "ml-IN" | "mr-IN" | "gu-IN" | "pa-IN" | "od-IN" | "or-IN" | undefined
    readonly sttMode?: "transcribe" | "translate" | "codemix" | undefined
    readonly sttModel?: string | undefined
    readonly ttsModel?: string | undefined
    readonly ttsVoice?: string | undefined
  } | undefined
  readonly tools?: readonly ({
    readonly name: string
    readonly description: string
    readonly parameters?: readonly ({
      readonly name: string
      readonly description?: string | undefined
      readonly required?: boolean | undefined
      readonly type: "string" | "number" | "integer" | "boolean"
    })[] | undefined
    readonly connectionId?: string | null | undefined
    readonly preset?: "end_call" | "transfer_call" | "send_dtmf" | "opt_out" | "schedule_callback" | null | undefined
    readonly speech?: Readonly<Record<string, string>> | undefined
    readonly mock?: {
      readonly enabled: boolean
      readonly response?: string | undefined
    } | null | undefined
    readonly http?: {
      readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE"
      readonly url: string
      readonly timeoutMs?: number | undefined
      readonly headers?: Readonly<Record<string, string>> | undefined
      readonly bodyFormat?: "json" | "form" | undefined
      readonly bodyRoot?: string | null | undefined
      readonly auth?: {
        readonly type: "none" | "bearer" | "basic" | "api_key"
        readonly in?: "header" | "query" | null | undefined
        readonly name?: string | null | undefined
        readonly header?: string | null | undefined
        readonly secretId?: string | null | undefined
        readonly secondary?: {
          readonly in: "header" | "query"
          readonly name: string
          readonly secretId: string
        } | null | undefined
      } | null | undefined
    } | null | undefined
  })[] | undefined
  readonly callSettings?: {
    readonly businessName?: string | undefined
    readonly recordingNotice?: {
      readonly text: string
    } | null | undefined
    readonly openingLine?: {
      readonly text: string
    } | null | undefined
    readonly inboundOpeningLine?: {
      readonly text: string
    } | null | undefined
    readonly hangupLine?: {
      readonly text: string
    } | null | undefined
    readonly maxCallSeconds?: number | undefined
    readonly background?: {
      readonly sound?: "none" | "office" | "cafe" | "call_center" | undefined
      readonly volume?: number | undefined
    } | undefined
    readonly nudges?: {
      readonly enabled?: boolean | undefined
      readonly hangupAfter?: boolean | undefined
      readonly steps?: readonly ({
        /** Seconds of silence until the step, added up over the steps: with 10 and 20 the second step follows 10 seconds after the first. A value not greater than the one before counts from the step before. */
        readonly afterSeconds: number
        readonly line: {
          readonly text: string
        }
      })[] | undefined
    } | undefined
    readonly voicemail?: {
      readonly enabled?: boolean | undefined
      readonly windowSeconds?: number | undefined
      readonly message?: {
        readonly text: string
      } | null | undefined
    } | undefined
    readonly optOut?: {
      readonly phrases?: boolean | undefined
      readonly dtmfKey?: string | null | undefined
    } | undefined
    readonly turnTaking?: {
      readonly preset?: "fast" | "balanced" | "patient" | undefined
      readonly maxWaitMs?: number | null | undefined
      readonly interruption?: {
        readonly minMs?: number | null | undefined
        readonly minWords?: number | undefined
      } | undefined
      readonly backchannels?: boolean | undefined
    } | undefined
    readonly opening?: {
      readonly protected?: boolean | undefined
    } | undefined
    readonly vocabulary?: readonly (string)[] | undefined
    readonly noiseSuppression?: boolean | undefined
    readonly transfer?: {
      readonly handoff?: "cold" | "warm" | undefined
      readonly blindTransfers?: boolean | undefined
      readonly defaultDestinationId?: string | null | undefined
      readonly destinations?: readonly ({
        readonly destinationId: string
        readonly fallbackDestinationId?: string | null | undefined
        readonly when?: string | undefined
      })[] | undefined
      readonly dtmfKey?: string | null | undefined
      readonly preTransferLine?: {
        readonly text: string
      } | null | undefined
      readonly afterMissLine?: {
        readonly text: string
      } | null | undefined
      readonly recordHumanSegment?: boolean | undefined
      readonly requestPhrases?: boolean | undefined
      readonly ringTimeoutSeconds?: number | undefined
    } | undefined
  } | undefined
}

/** Query of `updateAgent`. */
export type UpdateAgentQuery = {
  readonly ifUpdatedAt?: string | undefined
}

/** Body of `publishAgent`. */
export type PublishAgentBody = {
  readonly note?: string | null | undefined
}

/** Body of `rollbackAgent`. */
export type RollbackAgentBody = {
  readonly version: number
}

/** Body of `setAgentSenderClassification`. */
export type SetAgentSenderClassificationBody = {
  readonly senderClassification: "promotional" | "service" | "transactional" | "collections"
}

/** Query of `listAgentVersions`. */
export type ListAgentVersionsQuery = {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** Query of `listNumbers`. */
export type ListNumbersQuery = {
  readonly status?: string | undefined
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** Body of `updateNumber`. */
export type UpdateNumberBody = {
  readonly agentId?: string | null | undefined
  readonly label?: string | undefined
  readonly recordCalls?: boolean | undefined
  readonly routingMode?: "svc_agent" | "byo_ws" | "byo_sip" | undefined
  readonly mediaEndpoint?: {
    readonly type?: "static" | "twilio" | "plivo" | "vobiz" | "exotel" | "telnyx" | "vonage" | "jambonz" | "audiosocket" | "chan_websocket" | "chan_websocket_json" | undefined
    readonly url?: string | undefined
    readonly format?: "linear16" | "mulaw" | "alaw" | "g722" | "opus" | undefined
    readonly sampleRate?: 8000 | 16000 | 24000 | undefined
    readonly authSecretId?: string | null | undefined
    readonly customParameters?: Readonly<Record<string, string>> | undefined
  } | null | undefined
  readonly byoFallback?: "hangup" | "agent" | undefined
}

/** Query of `listNumberRegions`. */
export type ListNumberRegionsQuery = {
  readonly provider?: string | undefined
}

/** Query of `searchAvailableNumbers`. */
export type SearchAvailableNumbersQuery = {
  readonly provider?: string | undefined
  readonly region?: "AP" | "AS" | "BR" | "DL" | "GJ" | "HP" | "HR" | "JK" | "KA" | "KL" | "KO" | "MH" | "MP" | "MU" | "NE" | "OR" | "PB" | "RJ" | "TN" | "UE" | "UW" | "WB" | undefined
  readonly numberType?: "landline" | "mobile" | "tollfree" | undefined
  readonly series?: "regular" | "promotional_140" | "service_160" | undefined
  readonly contains?: string | undefined
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** Body of `purchaseNumber`. */
export type PurchaseNumberBody = {
  readonly e164: string
  readonly provider: string
  readonly label?: string | undefined
  readonly agentId?: string | null | undefined
  readonly confirmedTotalPaise?: number | undefined
}

/** Body of `setNumberInbound`. */
export type SetNumberInboundBody = {
  readonly enabled: boolean
}

/** Body of `setNumberSip`. */
export type SetNumberSipBody = {
  /** Public address of your telephone system, without a user: the called number becomes the user. The default port is that of the transport. Without it your telephone system registers at `connection` with `credentials`, and calls go there. */
  readonly sipUri?: string | undefined
  readonly transport?: "udp" | "tcp" | "tls" | undefined
  /** User name for calls that your telephone system places. Default: a random one. */
  readonly username?: string | undefined
}

/** Body of `requestSipTrunkAccess`. */
export type RequestSipTrunkAccessBody = {
  /** What you want to connect, for the reviewer. */
  readonly message: string
}

/** Query of `listSipTrunks`. */
export type ListSipTrunksQuery = {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** Body of `createSipTrunk`. */
export type CreateSipTrunkBody = {
  readonly name: string
  /** How your telephone system proves who it is: by its address, by user name and password, or by both. */
  readonly inboundAuth?: "ip_acl" | "digest" | "both" | undefined
  /** Public addresses and ranges that your telephone system sends from; at most a /24 (IPv4) or a /48 (IPv6) each. */
  readonly ipAcl?: readonly (string)[] | undefined
  readonly callerIdPolicy?: "did" | "trunk_default" | undefined
  readonly codecs?: readonly ("PCMA" | "PCMU" | "G722" | "OPUS" | "L16" | "L16/8000")[] | undefined
  readonly maxConcurrent?: number | undefined
  /** Host of your telephone system or carrier. Null: calls go to where your telephone system is registered. */
  readonly outboundHost?: string | null | undefined
  readonly outboundPort?: number | undefined
  readonly outboundTransport?: "tls" | "tcp" | "udp" | undefined
  readonly outboundNumberFormat?: "e164" | "national" | "national0" | undefined
  readonly outboundAuthUsername?: string | null | undefined
  readonly outboundPassword?: string | null | undefined
  /** The service registers at outboundHost (SIP REGISTER). */
  readonly register?: boolean | undefined
  /** Further X- headers of every call to outboundHost. */
  readonly customHeaders?: Readonly<Record<string, string>> | undefined
}

/** Body of `updateSipTrunk`. */
export type UpdateSipTrunkBody = {
  readonly name?: string | undefined
  /** How your telephone system proves who it is: by its address, by user name and password, or by both. */
  readonly inboundAuth?: "ip_acl" | "digest" | "both" | undefined
  /** Public addresses and ranges that your telephone system sends from; at most a /24 (IPv4) or a /48 (IPv6) each. */
  readonly ipAcl?: readonly (string)[] | undefined
  readonly callerIdPolicy?: "did" | "trunk_default" | undefined
  readonly codecs?: readonly ("PCMA" | "PCMU" | "G722" | "OPUS" | "L16" | "L16/8000")[] | undefined
  readonly maxConcurrent?: number | undefined
  /** Host of your telephone system or carrier. Null: calls go to where your telephone system is registered. */
  readonly outboundHost?: string | null | undefined
  readonly outboundPort?: number | undefined
  readonly outboundTransport?: "tls" | "tcp" | "udp" | undefined
  readonly outboundNumberFormat?: "e164" | "national" | "national0" | undefined
  readonly outboundAuthUsername?: string | null | undefined
  readonly outboundPassword?: string | null | undefined
  /** The service registers at outboundHost (SIP REGISTER). */
  readonly register?: boolean | undefined
  /** Further X- headers of every call to outboundHost. */
  readonly customHeaders?: Readonly<Record<string, string>> | undefined
}

/** Body of `testSipTrunk`. */
export type TestSipTrunkBody = {
  readonly method?: "options" | "register" | undefined
}

/** Query of `listSipTrunkNumbers`. */
export type ListSipTrunkNumbersQuery = {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** Body of `importSipTrunkNumbers`. */
export type ImportSipTrunkNumbersBody = {
  /** E.164, for example +918041234567. A number that is named twice counts once. */
  readonly e164s: readonly (string)[]
  readonly label?: string | undefined
}

/** Body of `placeCall`. */
export type PlaceCallBody = {
  readonly to: string
  readonly numberId: string
  readonly agentId?: string | undefined
  readonly variables?: Readonly<Record<string, string>> | undefined
  readonly metadata?: Readonly<Record<string, string>> | undefined
}

/** Query of `listCalls`. */
export type ListCallsQuery = {
  readonly search?: string | undefined
  readonly status?: string | undefined
  readonly disposition?: string | undefined
  readonly direction?: "outbound" | "inbound" | undefined
  readonly agentId?: string | undefined
  readonly numberId?: string | undefined
  readonly campaignId?: string | undefined
  readonly startedAfter?: string | undefined
  readonly startedBefore?: string | undefined
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** Query of `exportCalls`. */
export type ExportCallsQuery = {
  readonly search?: string | undefined
  readonly status?: string | undefined
  readonly disposition?: string | undefined
  readonly direction?: "outbound" | "inbound" | undefined
  readonly agentId?: string | undefined
  readonly numberId?: string | undefined
  readonly campaignId?: string | undefined
  readonly startedAfter?: string | undefined
  readonly startedBefore?: string | undefined
}

/** Body of `sayOnCall`. */
export type SayOnCallBody = {
  /** 1 to 1,000 characters. */
  readonly text: string
  readonly interrupt?: boolean | undefined
}

/** Body of `noteOnCall`. */
export type NoteOnCallBody = {
  /** 1 to 1,000 characters. */
  readonly text: string
}

/** Body of `requestBrowserCall`. */
export type RequestBrowserCallBody = {
  readonly purpose: "talk" | "listen" | "takeover"
  /** Whom to talk to. Required to talk. */
  readonly agentId?: string | undefined
  /** To talk. The default is the published version. */
  readonly version?: "draft" | number | undefined
  /** The number to which a talk counts. The default is a number that the agent answers, or else any number of the environment. */
  readonly numberId?: string | undefined
  /** To talk. The default is none. */
  readonly variables?: Readonly<Record<string, string>> | undefined
  /** The running call. Required to listen or take over. */
  readonly callId?: string | undefined
}

/** Query of `listCallMonitors`. */
export type ListCallMonitorsQuery = {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** Body of `hangUpCall`. */
export type HangUpCallBody = Readonly<Record<string, never>>

/** Query of `watchLive`. */
export type WatchLiveQuery = {
  readonly callId?: string | undefined
}

/** Body of `receiveCarrierCallback`. */
export type ReceiveCarrierCallbackBody = unknown

/** Query of `receiveCarrierCallback`. */
export type ReceiveCarrierCallbackQuery = {
  readonly t?: string | undefined
}

/** Body of `createCampaign`. */
export type CreateCampaignBody = {
  readonly name: string
  readonly agentId: string
  readonly numberId: string
  readonly pacing?: {
    readonly callsPerMinute?: number | undefined
    readonly maxConcurrent?: number | undefined
  } | undefined
  readonly retries?: {
    readonly attempts?: number | undefined
    readonly backoff?: "linear" | "exponential" | undefined
    readonly intervalMinutes?: number | undefined
    readonly on?: readonly ("answered" | "no_answer" | "busy" | "failed" | "voicemail" | "unknown")[] | undefined
  } | undefined
  readonly schedule?: {
    readonly startsAt?: string | null | undefined
    readonly endsAt?: string | null | undefined
    readonly weekdays?: number | undefined
    readonly windowStartMinute?: number | undefined
    readonly windowEndMinute?: number | undefined
  } | undefined
  readonly autoPauseBelowPaise?: number | undefined
}

/** Query of `listCampaigns`. */
export type ListCampaignsQuery = {
  readonly archived?: "true" | "false" | undefined
  readonly status?: string | undefined
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** Body of `updateCampaign`. */
export type UpdateCampaignBody = {
  readonly name?: string | undefined
  readonly agentId?: string | undefined
  readonly numberId?: string | undefined
  readonly pacing?: {
    readonly callsPerMinute?: number | undefined
    readonly maxConcurrent?: number | undefined
  } | undefined
  readonly retries?: {
    readonly attempts?: number | undefined
    readonly backoff?: "linear" | "exponential" | undefined
    readonly intervalMinutes?: number | undefined
    readonly on?: readonly ("answered" | "no_answer" | "busy" | "failed" | "voicemail" | "unknown")[] | undefined
  } | undefined
  readonly schedule?: {
    readonly startsAt?: string | null | undefined
    readonly endsAt?: string | null | undefined
    readonly weekdays?: number | undefined
    readonly windowStartMinute?: number | undefined
    readonly windowEndMinute?: number | undefined
  } | undefined
  readonly autoPauseBelowPaise?: number | undefined
}

/** Body of `addRecipients`. */
export type AddRecipientsBody = {
  readonly recipients: readonly ({
    readonly e164: string
    readonly externalId?: string | undefined
    readonly variables?: Readonly<Record<string, string>> | undefined
  })[]
}

/** Query of `listRecipients`. */
export type ListRecipientsQuery = {
  readonly status?: string | undefined
  readonly outcome?: string | undefined
  readonly excludedReason?: string | undefined
  readonly e164?: string | undefined
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** Body of `preflightCampaign`. */
export type PreflightCampaignBody = Readonly<Record<string, never>>

/** Body of `launchCampaign`. */
export type LaunchCampaignBody = Readonly<Record<string, never>>

/** Body of `pauseCampaign`. */
export type PauseCampaignBody = Readonly<Record<string, never>>

/** Body of `resumeCampaign`. */
export type ResumeCampaignBody = Readonly<Record<string, never>>

/** Body of `stopCampaign`. */
export type StopCampaignBody = Readonly<Record<string, never>>

/** Query of `listCampaignChecks`. */
export type ListCampaignChecksQuery = {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** Query of `listCallbacks`. */
export type ListCallbacksQuery = {
  readonly status?: "scheduled" | "due" | "dialled" | "refused" | "canceled" | undefined
  readonly e164?: string | undefined
  readonly agentId?: string | undefined
  readonly dueAfter?: string | undefined
  readonly dueBefore?: string | undefined
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** Body of `cancelCallback`. */
export type CancelCallbackBody = Readonly<Record<string, never>>

/** Body of `checkCompliance`. */
export type CheckComplianceBody = {
  readonly e164: string
  readonly purpose?: "promotional" | "service" | "transactional" | "collections" | undefined
  readonly numberId?: string | undefined
  readonly agentId?: string | undefined
  readonly at?: string | undefined
}

/** Query of `listComplianceChecks`. */
export type ListComplianceChecksQuery = {
  readonly e164?: string | undefined
  readonly type?: string | undefined
  readonly outcome?: string | undefined
  readonly callId?: string | undefined
  readonly campaignId?: string | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** Query of `readPersonEvidence`. */
export type ReadPersonEvidenceQuery = {
  readonly e164: string
}

/** Query of `listConsents`. */
export type ListConsentsQuery = {
  readonly e164?: string | undefined
  readonly purpose?: string | undefined
  readonly active?: "true" | "false" | undefined
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** Body of `createConsent`. */
export type CreateConsentBody = {
  readonly e164: string
  readonly purpose: "promotional" | "service" | "transactional" | "collections"
  readonly kind: "explicit" | "inferred"
  readonly scope: string
  readonly source: string
  readonly evidenceRef?: string | null | undefined
  readonly capturedAt?: string | undefined
  readonly expiresAt?: string | null | undefined
}

/** Body of `importConsents`. */
export type ImportConsentsBody = {
  readonly records: readonly ({
    readonly e164: string
    readonly purpose: string
    readonly kind: string
    readonly scope: string
    readonly source: string
    readonly evidenceRef?: string | null | undefined
    readonly capturedAt?: string | undefined
    readonly expiresAt?: string | null | undefined
  })[]
}

/** Body of `revokeConsent`. */
export type RevokeConsentBody = {
  readonly reason: string
  readonly optOut?: boolean | undefined
}

/** Query of `listDncEntries`. */
export type ListDncEntriesQuery = {
  readonly e164?: string | undefined
  readonly source?: string | undefined
  readonly active?: "true" | "false" | undefined
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** Body of `createDncEntry`. */
export type CreateDncEntryBody = {
  readonly e164: string
  readonly reason?: string | undefined
  readonly source?: "opt_out" | "manual" | "import" | "complaint" | "regulator" | undefined
}

/** Body of `importDncEntries`. */
export type ImportDncEntriesBody = {
  readonly entries: readonly ({
    readonly e164: string
    readonly reason?: string | undefined
    readonly source?: string | undefined
  })[]
}

/** Body of `startErasure`. */
export type StartErasureBody = {
  readonly e164: string
}

/** Query of `listEvents`. */
export type ListEventsQuery = {
  readonly type?: string | undefined
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** Body of `transferCall`. */
export type TransferCallBody = {
  readonly destinationId?: string | undefined
  readonly handoff?: "cold" | "warm" | undefined
  readonly note?: string | undefined
  readonly reason?: string | undefined
}

/** Body of `startTakeover`. */
export type StartTakeoverBody = {
  /** Id, key or number of the destination. */
  readonly destinationId: string
}

/** Body of `releaseTakeover`. */
export type ReleaseTakeoverBody = {
  readonly message?: string | undefined
}

/** Query of `readHandoff`. */
export type ReadHandoffQuery = {
  readonly lang?: "en" | "hi" | undefined
}

/** Query of `watchHandoff`. */
export type WatchHandoffQuery = {
  readonly after?: string | undefined
}

/** Body of `createTransferDestination`. */
export type CreateTransferDestinationBody = {
  readonly e164: string
  readonly key: string
  readonly label: string
  readonly hours?: readonly ({
    readonly days: string
    readonly from: string
    readonly to: string
  })[] | null | undefined
  readonly language?: "en-IN" | "hi-IN" | "bn-IN" | "ta-IN" | "te-IN" | "kn-IN" | "ml-IN" | "mr-IN" | "gu-IN" | "pa-IN" | "od-IN" | "or-IN" | undefined
}

/** Query of `listTransferDestinations`. */
export type ListTransferDestinationsQuery = {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** Body of `updateTransferDestination`. */
export type UpdateTransferDestinationBody = {
  readonly e164?: string | undefined
  readonly label?: string | undefined
  readonly hours?: readonly ({
    readonly days: string
    readonly from: string
    readonly to: string
  })[] | null | undefined
  readonly language?: "en-IN" | "hi-IN" | "bn-IN" | "ta-IN" | "te-IN" | "kn-IN" | "ml-IN" | "mr-IN" | "gu-IN" | "pa-IN" | "od-IN" | "or-IN" | undefined
  readonly enabled?: boolean | undefined
}

/** Body of `verifyTransferDestination`. */
export type VerifyTransferDestinationBody = Readonly<Record<string, never>>

/** Body of `confirmTransferDestination`. */
export type ConfirmTransferDestinationBody = {
  readonly code: string
}

/** Body of `createWebhook`. */
export type CreateWebhookBody = {
  readonly url: string
  readonly events: readonly ("call.initiated" | "call.answered" | "call.completed" | "call.failed" | "call.transfer_started" | "call.transferred" | "call.transfer_failed" | "campaign.completed" | "campaign.paused" | "compliance.check.blocked" | "wallet.balance.low" | "number.renewal_due" | "number.released" | "number.suspended" | "number.reactivated" | "knowledge.build.completed" | "knowledge.build.failed" | "evidence.head")[]
  readonly description?: string | null | undefined
}

/** Query of `listWebhooks`. */
export type ListWebhooksQuery = {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** Body of `updateWebhook`. */
export type UpdateWebhookBody = {
  readonly url?: string | undefined
  readonly events?: readonly ("call.initiated" | "call.answered" | "call.completed" | "call.failed" | "call.transfer_started" | "call.transferred" | "call.transfer_failed" | "campaign.completed" | "campaign.paused" | "compliance.check.blocked" | "wallet.balance.low" | "number.renewal_due" | "number.released" | "number.suspended" | "number.reactivated" | "knowledge.build.completed" | "knowledge.build.failed" | "evidence.head")[] | undefined
  readonly description?: string | null | undefined
  readonly enabled?: boolean | undefined
}

/** Query of `listWebhookDeliveries`. */
export type ListWebhookDeliveriesQuery = {
  readonly endpointId?: string | undefined
  readonly status?: string | undefined
  readonly since?: string | undefined
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** Body of `redeliverFailed`. */
export type RedeliverFailedBody = {
  readonly since: string
}

/** Body of `redeliverEvent`. */
export type RedeliverEventBody = {
  readonly endpointId?: string | undefined
}

/** Query of `listKnowledgeBases`. */
export type ListKnowledgeBasesQuery = {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** Body of `createKnowledgeBase`. */
export type CreateKnowledgeBaseBody = {
  readonly name: string
  readonly description?: string | null | undefined
}

/** Body of `updateKnowledgeBase`. */
export type UpdateKnowledgeBaseBody = {
  readonly name?: string | undefined
  readonly description?: string | null | undefined
  readonly agentIds?: readonly (string)[] | undefined
}

/** Query of `listKnowledgeDocuments`. */
export type ListKnowledgeDocumentsQuery = {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** Body of `createKnowledgeUpload`. */
export type CreateKnowledgeUploadBody = {
  readonly fileName: string
  readonly contentType: "application/pdf" | "text/plain" | "text/markdown" | "text/html" | "text/csv" | "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
  readonly bytes: number
}

/** Query of `listKnowledgeBuilds`. */
export type ListKnowledgeBuildsQuery = {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** Query of `searchKnowledgeBase`. */
export type SearchKnowledgeBaseQuery = {
  readonly query: string
  readonly limit?: number | undefined
}

/** Query of `listKnowledgeBaseAgents`. */
export type ListKnowledgeBaseAgentsQuery = {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** Query of `readWalletUsage`. */
export type ReadWalletUsageQuery = {
  readonly period?: "7d" | "30d" | "all" | undefined
  readonly agent_id?: string | undefined
}

/** Query of `listLedger`. */
export type ListLedgerQuery = {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** Body of `updateWalletSettings`. */
export type UpdateWalletSettingsBody = {
  readonly thresholdPaise: number
}

/** Body of `createTopup`. */
export type CreateTopupBody = {
  readonly amountPaise: number
}

/** Body of `receivePaymentEvent`. */
export type ReceivePaymentEventBody = unknown

/** Query of `listInvoices`. */
export type ListInvoicesQuery = {
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** Body of `updateOrganization`. */
export type UpdateOrganizationBody = {
  readonly name?: string | undefined
  readonly billing?: {
    readonly name?: string | null | undefined
    readonly address?: string | null | undefined
    readonly city?: string | null | undefined
    readonly pincode?: string | null | undefined
    readonly stateCode?: string | null | undefined
    readonly gstin?: string | null | undefined
    /** True for a unit or a developer of a special economic zone: it always bears IGST. */
    readonly sez?: boolean | undefined
  } | undefined
  readonly peId?: string | null | undefined
  readonly robocallMode?: "off" | "warn" | "block" | undefined
  readonly windowNarrowing?: {
    readonly startMinute?: number | undefined
    readonly endMinute?: number | undefined
  } | null | undefined
  readonly campaignSharePercent?: number | undefined
  readonly monitoring?: {
    readonly test?: "off" | "listen" | "listen_and_takeover" | undefined
    readonly live?: "off" | "listen" | "listen_and_takeover" | undefined
    readonly developers?: boolean | undefined
  } | undefined
  readonly requireSecondFactor?: boolean | undefined
}

/** Body of `setSenderClassification`. */
export type SetSenderClassificationBody = {
  readonly senderClassification: "promotional" | "service" | "transactional" | "collections"
}

/** Query of `listAuditLog`. */
export type ListAuditLogQuery = {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** Body of `submitVerification`. */
export type SubmitVerificationBody = {
  readonly legalName: string
  readonly entityType: "individual" | "proprietorship" | "partnership" | "llp" | "private_limited" | "public_limited" | "trust" | "society" | "government" | "other"
  readonly gstin?: string | null | undefined
  readonly pan?: string | null | undefined
  readonly registeredAddress: {
    readonly address: string
    readonly city: string
    readonly pincode: string
    readonly stateCode: string
  }
  readonly authorisedPerson: {
    readonly name: string
    readonly email: string
    readonly phone: string
  }
  readonly documents?: readonly (string)[] | undefined
}

/** Body of `createVerificationUpload`. */
export type CreateVerificationUploadBody = {
  readonly fileName: string
  readonly contentType: "application/pdf" | "image/jpeg" | "image/png"
  readonly bytes: number
}

/** Query of `listRobocallDeclarations`. */
export type ListRobocallDeclarationsQuery = {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** Body of `declareRobocalls`. */
export type DeclareRobocallsBody = {
  readonly provider: string
  readonly reference: string
  readonly objective: string
  readonly callerIds: readonly (string)[]
  readonly declaredOn: string
  readonly effectiveFrom: string
}

/** Query of `listSenderIds`. */
export type ListSenderIdsQuery = {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** Body of `submitSenderId`. */
export type SubmitSenderIdBody = {
  readonly series: "140" | "1600" | "1601"
  readonly e164: string
  readonly category: "promotional" | "service" | "transactional" | "government"
  readonly dltHeaderId: string
}

/** Query of `listSecrets`. */
export type ListSecretsQuery = {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** Body of `createSecret`. */
export type CreateSecretBody = {
  readonly name: string
  readonly value: string
  /** Hosts that the secret may be sent to: exact names, or *.example.com for all names below. */
  readonly hosts?: readonly (string)[] | undefined
}

/** Body of `replaceSecret`. */
export type ReplaceSecretBody = {
  readonly value?: string | undefined
  /** Hosts that the secret may be sent to: exact names, or *.example.com for all names below. */
  readonly hosts?: readonly (string)[] | undefined
}

/** Query of `listConnections`. */
export type ListConnectionsQuery = {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** Body of `createConnection`. */
export type CreateConnectionBody = {
  readonly kind?: "http" | undefined
  readonly name: string
  readonly baseUrl: string
  readonly secretId?: string | null | undefined
}

/** Body of `updateConnection`. */
export type UpdateConnectionBody = {
  readonly name?: string | undefined
  readonly baseUrl?: string | undefined
  readonly secretId?: string | null | undefined
}

/** Query of `listOrganizations`. */
export type ListOrganizationsQuery = {
  readonly verification?: "unverified" | "submitted" | "verified" | "rejected" | undefined
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** Body of `decideOrganizationVerification`. */
export type DecideOrganizationVerificationBody = {
  readonly decision: "verified" | "rejected"
  /** Reason of the change. Recorded in the audit log. */
  readonly reason: string
}

/** Body of `setOrganizationLimits`. */
export type SetOrganizationLimitsBody = {
  readonly requestsPerMinute?: {
    readonly test?: number | null | undefined
    readonly live?: number | null | undefined
  } | undefined
  readonly agentCalls?: {
    readonly test?: number | null | undefined
    readonly live?: number | null | undefined
  } | undefined
  readonly byoCalls?: {
    readonly test?: number | null | undefined
    readonly live?: number | null | undefined
  } | undefined
  readonly ratePaisePerMinute?: number | null | undefined
  readonly trunkingEnabled?: boolean | undefined
  /** Reason of the change. Recorded in the audit log. */
  readonly reason: string
}

/** Body of `setKillSwitch`. */
export type SetKillSwitchBody = {
  readonly enforcement: boolean
  /** Also ends the calls in progress. Default false. */
  readonly endCalls?: boolean | undefined
  /** Reason of the change. Recorded in the audit log. */
  readonly reason: string
}

/** Body of `decideSenderId`. */
export type DecideSenderIdBody = {
  readonly decision: "approved" | "rejected" | "revoked"
  /** Reason of the change. Recorded in the audit log. */
  readonly reason: string
}

/** Body of `setWalletHold`. */
export type SetWalletHoldBody = {
  readonly onHold: boolean
  /** Reason of the change. Recorded in the audit log. */
  readonly reason: string
}

/** Body of `adjustWallet`. */
export type AdjustWalletBody = {
  readonly amountPaise: number
  /** Number of the ticket or document of the adjustment. */
  readonly reference: string
  /** Reason of the change. Recorded in the audit log. */
  readonly reason: string
}

/** Query of `listWalletAdjustments`. */
export type ListWalletAdjustmentsQuery = {
  readonly status?: "applied" | "pending" | "approved" | "rejected" | undefined
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** Body of `decideWalletAdjustment`. */
export type DecideWalletAdjustmentBody = {
  readonly decision: "approved" | "rejected"
  /** Reason of the change. Recorded in the audit log. */
  readonly reason: string
}

/** Query of `listInvoicesAsStaff`. */
export type ListInvoicesAsStaffQuery = {
  readonly kind?: "invoice" | "credit_note" | "receipt_voucher" | "refund_voucher" | undefined
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** Query of `listSipAccessRequests`. */
export type ListSipAccessRequestsQuery = {
  readonly status?: "pending" | "approved" | "rejected" | undefined
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** Body of `decideSipAccessRequest`. */
export type DecideSipAccessRequestBody = {
  readonly decision: "approved" | "rejected"
  /** Reason of the change. Recorded in the audit log. */
  readonly reason: string
}

/** Body of `approveSipTrunk`. */
export type ApproveSipTrunkBody = {
  /** Reason of the change. Recorded in the audit log. */
  readonly reason: string
  /** The complete `ipAcl` that was reviewed. Answers 409 if the trunk has another list now. Required if addresses wait in `ipAclPending` and the trunk was changed after its creation. */
  readonly ipAcl?: readonly (string)[] | undefined
}

/** Body of `disableSipTrunk`. */
export type DisableSipTrunkBody = {
  /** Reason of the change. Recorded in the audit log. */
  readonly reason: string
}

/** Body of `enableSipTrunk`. */
export type EnableSipTrunkBody = {
  /** Reason of the change. Recorded in the audit log. */
  readonly reason: string
}

/** Body of `setSipTrunkRights`. */
export type SetSipTrunkRightsBody = {
  readonly allowOrigination: boolean
  readonly originationBudgetPaise?: number | null | undefined
  /** Reason of the change. Recorded in the audit log. */
  readonly reason: string
}

/** Query of `listPaymentExceptions`. */
export type ListPaymentExceptionsQuery = {
  readonly resolved?: "true" | "false" | undefined
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** Body of `resolvePaymentException`. */
export type ResolvePaymentExceptionBody = {
  readonly resolution: "refund" | "credit_note" | "dismiss"
  /** Reason of the change. Recorded in the audit log. */
  readonly reason: string
}

/** Query of `importDndScrub`. */
export type ImportDndScrubQuery = {
  readonly scrubbedAt: string
  readonly validUntil?: string | undefined
}

/** Query of `listDndScrubs`. */
export type ListDndScrubsQuery = {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** Body of `createSandboxInboundCall`. */
export type CreateSandboxInboundCallBody = {
  readonly numberId: string
  readonly from: string
  /** Simulated caller. The default is polite. */
  readonly persona?: "polite" | "voicemail" | "media_dies" | "no_more_calls" | "wants_person" | "talks_forever" | "interrupts" | "silent" | "presses_digits" | "screening" | undefined
}

/** The `data` of an event, by the type of the event. */
export type EventData = {
  "call.initiated": {
      readonly call: Call
    }
  "call.answered": {
      readonly call: Call
    }
  "call.completed": {
      readonly call: Call
    }
  "call.failed": {
      readonly call: Call
    }
  "call.transfer_started": {
      readonly call: Call
      /** The transfer attempt of this event, which may differ from the latest attempt of the call. */
      readonly transfer: {
        readonly id: string
        /** 1 or 2. */
        readonly attempt: number
        readonly status: Open<"accepted" | "ringing" | "answered" | "bridged" | "completed" | "missed" | "declined" | "failed" | "canceled">
        readonly mode: Open<"blind" | "screened" | "consult">
        readonly trigger: Open<"model" | "api" | "byo" | "dtmf">
        readonly reason: string | null
        readonly outcome: Open<"connected" | "no_answer" | "busy" | "declined" | "caller_hung_up" | "caller_returned" | "call_ended" | "carrier_error" | "destination_unavailable"> | null
        /** What the person heard before the caller. */
        readonly brief: string | null
        readonly destination: {
          readonly label: string
        }
        readonly requestedAt: string
        /** When the person took the call, on attempts with a briefing. */
        readonly acceptedAt: string | null
        readonly answeredAt: string | null
        readonly bridgedAt: string | null
        readonly endedAt: string | null
        readonly humanSeconds: number
        readonly hasRecording: boolean
        readonly hasReturnRecording: boolean
      }
    }
  "call.transferred": {
      readonly call: Call
      /** The transfer attempt of this event, which may differ from the latest attempt of the call. */
      readonly transfer: {
        readonly id: string
        /** 1 or 2. */
        readonly attempt: number
        readonly status: Open<"accepted" | "ringing" | "answered" | "bridged" | "completed" | "missed" | "declined" | "failed" | "canceled">
        readonly mode: Open<"blind" | "screened" | "consult">
        readonly trigger: Open<"model" | "api" | "byo" | "dtmf">
        readonly reason: string | null
        readonly outcome: Open<"connected" | "no_answer" | "busy" | "declined" | "caller_hung_up" | "caller_returned" | "call_ended" | "carrier_error" | "destination_unavailable"> | null
        /** What the person heard before the caller. */
        readonly brief: string | null
        readonly destination: {
          readonly label: string
        }
        readonly requestedAt: string
        /** When the person took the call, on attempts with a briefing. */
        readonly acceptedAt: string | null
        readonly answeredAt: string | null
        readonly bridgedAt: string | null
        readonly endedAt: string | null
        readonly humanSeconds: number
        readonly hasRecording: boolean
        readonly hasReturnRecording: boolean
      }
    }
  "call.transfer_failed": {
      readonly call: Call
      /** The transfer attempt of this event, which may differ from the latest attempt of the call. */
      readonly transfer: {
        readonly id: string
        /** 1 or 2. */
        readonly attempt: number
        readonly status: Open<"accepted" | "ringing" | "answered" | "bridged" | "completed" | "missed" | "declined" | "failed" | "canceled">
        readonly mode: Open<"blind" | "screened" | "consult">
        readonly trigger: Open<"model" | "api" | "byo" | "dtmf">
        readonly reason: string | null
        readonly outcome: Open<"connected" | "no_answer" | "busy" | "declined" | "caller_hung_up" | "caller_returned" | "call_ended" | "carrier_error" | "destination_unavailable"> | null
        /** What the person heard before the caller. */
        readonly brief: string | null
        readonly destination: {
          readonly label: string
        }
        readonly requestedAt: string
        /** When the person took the call, on attempts with a briefing. */
        readonly acceptedAt: string | null
        readonly answeredAt: string | null
        readonly bridgedAt: string | null
        readonly endedAt: string | null
        readonly humanSeconds: number
        readonly hasRecording: boolean
        readonly hasReturnRecording: boolean
      }
    }
  "campaign.completed": {
      /** The campaign as its GET operation returns it. */
      readonly campaign: {
        readonly id: string
        readonly name: string
        readonly environment: Open<"test" | "live">
        readonly status: Open<"draft" | "scheduled" | "running" | "paused" | "completed" | "stopped" | "failed">
        readonly pausedReason: Open<"operator" | "low_balance" | "target_unavailable" | "carrier_errors" | "service_errors"> | null
        /** When a campaign that was paused for `carrier_errors` or `service_errors` tries one call. Null otherwise. */
        readonly resumesAt: string | null
        readonly failureReason: string | null
        readonly agent: {
          readonly id: string | null
          readonly name: string | null
        }
        /** Version that every call uses. Null until launch. */
        readonly agentVersion: number | null
        readonly number: {
          readonly id: string | null
          readonly e164: string | null
        }
        readonly purpose: string | null
        readonly autoPauseBelowPaise: number
        readonly pacing: {
          readonly callsPerMinute: number
          readonly maxConcurrent: number
        }
        readonly retries: {
          /** Most dials per recipient. */
          readonly attempts: number
          readonly backoff: Open<"linear" | "exponential">
          readonly intervalMinutes: number
          readonly on: readonly (string)[]
        }
        readonly schedule: {
          readonly startsAt: string | null
          readonly endsAt: string | null
          /** Bit mask of 7 days. Monday is bit 0. */
          readonly weekdays: number
          /** Minutes after midnight in India. */
          readonly windowStartMinute: number
          /** Minutes after midnight in India. */
          readonly windowEndMinute: number
        }
        readonly progress: {
          readonly total: number
          /** Recipients that were dialled at least once. */
          readonly dialed: number
          readonly connected: number
          readonly excluded: number
          /** Recipients that are not dialled any more, excluded ones included. */
          readonly settled: number
          readonly spentPaise: number
          /** Answered calls on which the agent was not heard within 2 seconds. */
          readonly lateAgentSound: number
        }
        readonly preflight: {
          readonly callable: number
          readonly checks: readonly ({
            readonly type: string
            readonly outcome: Open<"pass" | "warn" | "block">
            readonly reason: string
          })[]
          readonly computedAt: string
          readonly estimatedCostPaise: {
            readonly low: number
            readonly high: number
          }
          /** When the last recipient settles if the campaign starts now or at startsAt. Null if that takes more than a year. */
          readonly estimatedFinish: {
            readonly low: string | null
            readonly likely: string | null
            readonly high: string | null
          }
          /** Number of recipients that cannot be called, by reason. */
          readonly excluded: Readonly<Record<string, number>>
          /** The first 100 numbers by reason. */
          readonly excludedE164s: Readonly<Record<string, readonly (string)[]>>
          readonly total: number
          readonly walletBalancePaise: number
        } | null
        readonly launchedAt: string | null
        readonly completedAt: string | null
        readonly archivedAt: string | null
        readonly createdAt: string
        readonly updatedAt: string
      }
    }
  "campaign.paused": {
      /** The campaign as its GET operation returns it. */
      readonly campaign: {
        readonly id: string
        readonly name: string
        readonly environment: Open<"test" | "live">
        readonly status: Open<"draft" | "scheduled" | "running" | "paused" | "completed" | "stopped" | "failed">
        readonly pausedReason: Open<"operator" | "low_balance" | "target_unavailable" | "carrier_errors" | "service_errors"> | null
        /** When a campaign that was paused for `carrier_errors` or `service_errors` tries one call. Null otherwise. */
        readonly resumesAt: string | null
        readonly failureReason: string | null
        readonly agent: {
          readonly id: string | null
          readonly name: string | null
        }
        /** Version that every call uses. Null until launch. */
        readonly agentVersion: number | null
        readonly number: {
          readonly id: string | null
          readonly e164: string | null
        }
        readonly purpose: string | null
        readonly autoPauseBelowPaise: number
        readonly pacing: {
          readonly callsPerMinute: number
          readonly maxConcurrent: number
        }
        readonly retries: {
          /** Most dials per recipient. */
          readonly attempts: number
          readonly backoff: Open<"linear" | "exponential">
          readonly intervalMinutes: number
          readonly on: readonly (string)[]
        }
        readonly schedule: {
          readonly startsAt: string | null
          readonly endsAt: string | null
          /** Bit mask of 7 days. Monday is bit 0. */
          readonly weekdays: number
          /** Minutes after midnight in India. */
          readonly windowStartMinute: number
          /** Minutes after midnight in India. */
          readonly windowEndMinute: number
        }
        readonly progress: {
          readonly total: number
          /** Recipients that were dialled at least once. */
          readonly dialed: number
          readonly connected: number
          readonly excluded: number
          /** Recipients that are not dialled any more, excluded ones included. */
          readonly settled: number
          readonly spentPaise: number
          /** Answered calls on which the agent was not heard within 2 seconds. */
          readonly lateAgentSound: number
        }
        readonly preflight: {
          readonly callable: number
          readonly checks: readonly ({
            readonly type: string
            readonly outcome: Open<"pass" | "warn" | "block">
            readonly reason: string
          })[]
          readonly computedAt: string
          readonly estimatedCostPaise: {
            readonly low: number
            readonly high: number
          }
          /** When the last recipient settles if the campaign starts now or at startsAt. Null if that takes more than a year. */
          readonly estimatedFinish: {
            readonly low: string | null
            readonly likely: string | null
            readonly high: string | null
          }
          /** Number of recipients that cannot be called, by reason. */
          readonly excluded: Readonly<Record<string, number>>
          /** The first 100 numbers by reason. */
          readonly excludedE164s: Readonly<Record<string, readonly (string)[]>>
          readonly total: number
          readonly walletBalancePaise: number
        } | null
        readonly launchedAt: string | null
        readonly completedAt: string | null
        readonly archivedAt: string | null
        readonly createdAt: string
        readonly updatedAt: string
      }
    }
  "compliance.check.blocked": {
      readonly check: ComplianceCheck
    }
  "wallet.balance.low": {
      readonly wallet: {
        readonly balancePaise: number
        /** Set aside for calls and purchases in progress. */
        readonly heldPaise: number
        readonly thresholdPaise: number
        readonly currency: string
        readonly ratePaisePerMinute: number
        /** No call is placed while the wallet is on hold. */
        readonly onHold: boolean
        readonly holdReason: string | null
        readonly minCallBalancePaise: number
        readonly environment: Open<"test" | "live">
        readonly updatedAt: string
      }
    }
  "number.renewal_due": {
      readonly number: Number
    }
  "number.released": {
      readonly number: Number
    }
  "number.suspended": {
      readonly number: Number
    }
  "number.reactivated": {
      readonly number: Number
    }
  "knowledge.build.completed": {
      readonly knowledgeBase: {
        readonly id: string
        readonly name: string
        /** For people. The agent does not read it. */
        readonly description: string | null
        readonly status: Open<"empty" | "processing" | "ready" | "error">
        readonly deliveryMode: Open<"inline" | "search" | "pending">
        readonly docCount: number
        readonly totalBytes: number
        readonly chunkCount: number | null
        readonly compiledTokens: number | null
        readonly agentCount: number
        readonly error: string | null
        readonly createdAt: string
        readonly updatedAt: string
      }
      readonly build: {
        readonly id: string
        readonly knowledgeBaseId: string
        readonly status: Open<"processing" | "completed" | "failed">
        readonly error: string | null
        readonly documents: number
        /** Documents that are read, or that cannot be read. */
        readonly documentsDone: number
        readonly chunkCount: number | null
        readonly compiledTokens: number | null
        /** Model whose vectors the search uses besides words. Null for words only. */
        readonly embeddingModel: string | null
        /** What a completed build does without, and why, as sentences for people. */
        readonly warnings: readonly (string)[]
        /** Tokens that the models of the build counted. Unchanged passages take none. */
        readonly modelTokens: {
          readonly embedding: number
          readonly prompt: number
          readonly completion: number
        }
        readonly startedAt: string
        readonly finishedAt: string | null
      }
    }
  "knowledge.build.failed": {
      readonly knowledgeBase: {
        readonly id: string
        readonly name: string
        /** For people. The agent does not read it. */
        readonly description: string | null
        readonly status: Open<"empty" | "processing" | "ready" | "error">
        readonly deliveryMode: Open<"inline" | "search" | "pending">
        readonly docCount: number
        readonly totalBytes: number
        readonly chunkCount: number | null
        readonly compiledTokens: number | null
        readonly agentCount: number
        readonly error: string | null
        readonly createdAt: string
        readonly updatedAt: string
      }
      readonly build: {
        readonly id: string
        readonly knowledgeBaseId: string
        readonly status: Open<"processing" | "completed" | "failed">
        readonly error: string | null
        readonly documents: number
        /** Documents that are read, or that cannot be read. */
        readonly documentsDone: number
        readonly chunkCount: number | null
        readonly compiledTokens: number | null
        /** Model whose vectors the search uses besides words. Null for words only. */
        readonly embeddingModel: string | null
        /** What a completed build does without, and why, as sentences for people. */
        readonly warnings: readonly (string)[]
        /** Tokens that the models of the build counted. Unchanged passages take none. */
        readonly modelTokens: {
          readonly embedding: number
          readonly prompt: number
          readonly completion: number
        }
        readonly startedAt: string
        readonly finishedAt: string | null
      }
    }
  "evidence.head": {
      readonly evidenceHead: EvidenceHead
    }
}
