# A stream that shows a client certificate: key and certificates are in stores of Java (JKS, or PKCS#12) in a folder of the agent's
# machine, their passwords in a secret scope. How to make the stores:
#
#   keytool -genkeypair -alias client -keyalg RSA -keysize 3072 -dname "CN=featurestore" -storetype JKS -keystore client.jks
#   keytool -certreq    -alias client -keystore client.jks -file client.csr          # have it signed: client.pem, with its chain
#   keytool -importcert -alias client -keystore client.jks -file client.pem
#   keytool -importcert -alias brokers -storetype JKS -keystore truststore.jks -file authority-of-the-brokers.pem
#
# A renewed certificate is a new file in the place of the old one: the stream reconnects at its exact position.

terraform {
  required_version = ">= 1.11"
  required_providers {
    featurestore = {
      source = "featurestore/featurestore"
    }
  }
}

variable "bootstrap_servers" {
  description = "Addresses of the Kafka brokers' listener that asks for client certificates, host:port."
  type        = string
}

variable "topic" {
  description = "Topic with one JSON order per message."
  type        = string
  default     = "orders"
}

variable "key_stores" {
  description = "Folder of the agent's machine with client.jks and truststore.jks."
  type        = string
  default     = "/srv/featurestore/key-stores"
}

# Ephemeral: Terraform itself keeps none of them.
variable "keystore_password" {
  type      = string
  ephemeral = true
  sensitive = true
}

variable "key_password" {
  description = "Of the key inside the keystore; in a PKCS#12 store it usually is the store's."
  type        = string
  ephemeral   = true
  sensitive   = true
}

variable "truststore_password" {
  type      = string
  ephemeral = true
  sensitive = true
}

variable "passwords_version" {
  description = "A new number sends the passwords again."
  type        = number
  default     = 1
}

# The endpoint comes from FEATURESTORE_ENDPOINT, or is the local agent's default.
provider "featurestore" {}

resource "featurestore_volume" "keys" {
  name             = "main.shop.keys"
  storage_location = var.key_stores
}

resource "featurestore_secret_scope" "keys" {
  name = "shop-keys"
}

resource "featurestore_secret" "keystore" {
  scope            = featurestore_secret_scope.keys.name
  key              = "keystore"
  value_wo         = var.keystore_password
  value_wo_version = var.passwords_version
}

resource "featurestore_secret" "key" {
  scope            = featurestore_secret_scope.keys.name
  key              = "key"
  value_wo         = var.key_password
  value_wo_version = var.passwords_version
}

resource "featurestore_secret" "truststore" {
  scope            = featurestore_secret_scope.keys.name
  key              = "truststore"
  value_wo         = var.truststore_password
  value_wo_version = var.passwords_version
}

locals {
  folder = "/Volumes/${replace(featurestore_volume.keys.name, ".", "/")}"
}

resource "featurestore_stream" "orders" {
  name = "main.shop.orders"

  source_config = {
    kafka_stream_config = {
      subscription_mode = { subscribe = var.topic }
      extra_options     = { startingOffsets = "earliest" }
    }
  }

  connection_config = {
    direct_mtls_config = {
      bootstrap_servers = var.bootstrap_servers
      mtls_config = {
        keystore_location   = "${local.folder}/client.jks"
        truststore_location = "${local.folder}/truststore.jks"
        keystore_password_ref = {
          scope = featurestore_secret.keystore.scope
          key   = featurestore_secret.keystore.key
        }
        key_password_ref = {
          scope = featurestore_secret.key.scope
          key   = featurestore_secret.key.key
        }
        truststore_password_ref = {
          scope = featurestore_secret.truststore.scope
          key   = featurestore_secret.truststore.key
        }
      }
    }
  }

  schema_config = {
    direct_schemas = {
      payload_schema = {
        json_schema = jsonencode({
          type = "object"
          properties = {
            order_id = { type = "integer", format = "int64" }
            amount   = { type = "number" }
          }
        })
      }
    }
  }

  ingestion_config = {
    ingestion_destination = { delta_table_name = "main.shop.orders_raw" }
  }
}
