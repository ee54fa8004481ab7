# A stream from Amazon MSK, where a role of AWS IAM signs in to the brokers: no password anywhere. The agent's own identity must be allowed
# `sts:AssumeRole` on the role, and the role's trust policy must name that identity and the external id. The role needs, on the cluster and
# its topics:
#
#   kafka-cluster:Connect, kafka-cluster:DescribeCluster, kafka-cluster:DescribeTopic, kafka-cluster:ReadData

terraform {
  required_version = ">= 1.11"
  required_providers {
    featurestore = {
      source = "featurestore/featurestore"
    }
  }
}

variable "role_arn" {
  description = "The role that reads the topics: arn:aws:iam::<account>:role/<name>."
  type        = string
}

variable "external_id" {
  description = "What the role's trust policy asks for beside the agent's identity; null where it asks for nothing."
  type        = string
  default     = null
}

variable "bootstrap_servers" {
  description = "The cluster's addresses for IAM, port 9098 within AWS."
  type        = string
}

variable "certificate_authorities" {
  description = "File of the authorities that signed the brokers' certificates, PEM; null for those of the agent's machine, which MSK's are among."
  type        = string
  default     = null
}

variable "topic" {
  description = "Topic with one JSON order per message."
  type        = string
  default     = "orders"
}

# The endpoint comes from FEATURESTORE_ENDPOINT, or is the local agent's default.
provider "featurestore" {}

# It is tried when it is made: a role that the agent may not assume yet is a warning that says why.
resource "featurestore_service_credential" "reader" {
  name = "shop-reader"
  aws_iam_role = {
    role_arn    = var.role_arn
    external_id = var.external_id
  }
}

resource "featurestore_connection" "msk" {
  name = "shop-msk"
  kafka = {
    bootstrap_servers = var.bootstrap_servers
    credential        = featurestore_service_credential.reader.name
    ca_pem            = var.certificate_authorities == null ? null : file(var.certificate_authorities)
  }
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
    uc_connection_name = featurestore_connection.msk.name
  }

  schema_config = {
    direct_schemas = {
      payload_schema = {
        json_schema = jsonencode({
          type = "object"
          properties = {
            order_id = { type = "integer", format = "int64" }
            amount   = { type = "number" }
            note     = { type = "string" }
          }
        })
      }
    }
  }

  ingestion_config = {
    ingestion_destination = { delta_table_name = "main.shop.orders_raw" }
  }
}
