# Orders in Avro from a broker that asks for a user, by the schemas of a Confluent registry. A new version of the subject adds its columns
# when the stream starts again, every few hours.

terraform {
  required_version = ">= 1.11"
  required_providers {
    featurestore = {
      source = "featurestore/featurestore"
    }
  }
}

variable "bootstrap_servers" {
  description = "Addresses of the Kafka brokers, host:port."
  type        = string
}

variable "certificate_authorities" {
  description = "File of the authorities that signed the brokers' certificates, PEM."
  type        = string
}

variable "sasl_mechanism" {
  description = "PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512."
  type        = string
  default     = "SCRAM-SHA-512"
}

variable "kafka_user" {
  description = "User of the brokers."
  type        = string
}

variable "registry_url" {
  description = "Addresses of the schema registry, with commas between them."
  type        = string
}

variable "registry_key" {
  description = "API key, or user, of the schema registry."
  type        = string
}

# Ephemeral: Terraform itself keeps them nowhere.
variable "kafka_password" {
  description = "Password of the Kafka user."
  type        = string
  ephemeral   = true
  sensitive   = true
}

variable "registry_secret" {
  description = "API secret, or password, of the schema registry."
  type        = string
  ephemeral   = true
  sensitive   = true
}

variable "topic" {
  description = "Topic with one order per message; its subject is `<topic>-value`."
  type        = string
  default     = "orders"
}

# The endpoint comes from FEATURESTORE_ENDPOINT, or is the local agent's default.
provider "featurestore" {}

resource "featurestore_secret_scope" "shop" {
  name = "shop"
}

resource "featurestore_secret" "kafka_password" {
  scope            = featurestore_secret_scope.shop.name
  key              = "kafka-password"
  value_wo         = var.kafka_password
  value_wo_version = 1
}

resource "featurestore_secret" "registry" {
  scope            = featurestore_secret_scope.shop.name
  key              = "registry-secret"
  value_wo         = var.registry_secret
  value_wo_version = 1
}

resource "featurestore_connection" "kafka" {
  name = "shop-kafka"
  kafka = {
    bootstrap_servers       = var.bootstrap_servers
    security_protocol       = "SASL_SSL"
    sasl_mechanism          = var.sasl_mechanism
    user                    = var.kafka_user
    ca_pem                  = file(var.certificate_authorities)
    schema_registry_url     = var.registry_url
    schema_registry_api_key = var.registry_key

    password_secret = {
      scope = featurestore_secret.kafka_password.scope
      key   = featurestore_secret.kafka_password.key
    }

    schema_registry_api_secret_secret = {
      scope = featurestore_secret.registry.scope
      key   = featurestore_secret.registry.key
    }
  }
}

resource "featurestore_stream" "orders" {
  name = "main.shop.orders"

  source_config = {
    kafka_stream_config = {
      subscription_mode = { subscribe = var.topic }
    }
  }

  connection_config = {
    uc_connection_name = featurestore_connection.kafka.name
  }

  schema_config = {
    schema_registry_config = {
      # The same secret as the connection's: it may be left out.
      api_secret_ref = {
        scope = featurestore_secret.registry.scope
        key   = featurestore_secret.registry.key
      }
      payload_schema_locator = {
        confluent_schema = {
          subject = "${var.topic}-value"
          format  = "FORMAT_AVRO"
        }
      }
    }
  }

  ingestion_config = {
    ingestion_destination = {
      delta_table_name = "main.shop.orders_raw"
    }
  }

  # Fields that later versions of the subject may bring, and that never are to be stored.
  excluded_columns = ["value.email"]
}
